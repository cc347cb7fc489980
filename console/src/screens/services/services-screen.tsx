import { useDeferredValue } from 'react'
import { useLocation, useSearch } from 'wouter'
import { useServices } from '../../api/queries.ts'
import { servicesQuery } from '../../api/screen-queries.ts'
import type { FleetService } from '../../api/types.ts'
import { urlWith, useParams } from '../../lib/use-search-params.ts'
import { LinkButton } from '../../ui/buttons.tsx'
import { Empty, ErrorNote, Loading, MissingData } from '../../ui/notes.tsx'
import { Outcomes } from '../../ui/outcomes.tsx'
import { Page, Panel } from '../../ui/page.tsx'
import { ServicePanel } from './service-panel.tsx'
import './services.css'

/** With more services than these, each shows its processes only when asked: a large fleet must not hold up the page. */
const MOST_OPEN = 5
const DRAWN_FIRST = 5

export function ServicesScreen() {
  const [params] = useParams()
  const query = servicesQuery(params)
  const { data, error, refetch } = useServices(query)
  const isEmpty = data?.services.length === 0 && query.cursor === undefined
  return (
    <Page
      name="Services"
      lead="Processes that report to the stores, with their consumers and sinks, wherever they run."
    >
      {error && <ErrorNote error={error} onRetry={refetch} />}
      <MissingData faults={data?.faults} />
      {data === undefined && !error && <Loading rows={8} />}
      {isEmpty && (
        <Panel>
          <Empty title="No processes">
            A process appears here after it calls <code>joinFleet()</code> with a store of this server. The
            guide <code>docs/guides/fleet.md</code> shows how.
          </Empty>
        </Panel>
      )}
      {data && <ServicePanels services={data.services} isAll={data.cursor === undefined} />}
      <Pages first={query.cursor !== undefined} next={data?.cursor} />
      <Outcomes />
    </Page>
  )
}

/** The first panels fill a window. They are drawn at once, and the others when the browser has time for them. */
function ServicePanels({ services, isAll }: { services: readonly FleetService[]; isAll: boolean }) {
  const drawn = useDeferredValue(services, services.slice(0, DRAWN_FIRST))
  const isOpen = services.length <= MOST_OPEN && isAll
  return drawn.map(service => <ServicePanel key={service.name} service={service} isOpen={isOpen} />)
}

function Pages({ first, next }: { first: boolean; next: string | undefined }) {
  const [path] = useLocation()
  const search = useSearch()
  if (!first && next === undefined) return null
  return (
    <nav className="row" aria-label="Pages">
      {first && <LinkButton href={urlWith(path, search, { cursor: undefined })}>First services</LinkButton>}
      {next !== undefined && (
        <LinkButton href={urlWith(path, search, { cursor: next })}>More services</LinkButton>
      )}
    </nav>
  )
}
