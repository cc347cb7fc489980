import { useFleet } from '../../api/queries.ts'
import type { FleetInstance } from '../../api/types.ts'
import { Empty, ErrorNote, Loading, MissingData } from '../../ui/notes.tsx'
import { Page, Panel } from '../../ui/page.tsx'
import { Outcomes } from './outcomes.tsx'
import { ServicePanel } from './service-panel.tsx'
import { servicesOf } from './service-view.ts'
import '../../ui/table.css'
import './services.css'

/** The processes that are drawn at first, over all services, and the fewest of each: a large fleet must not hold up the page. */
const MOST_AT_FIRST = 60
const FEWEST_AT_FIRST = 2

export function ServicesScreen() {
  const { data, error, refetch } = useFleet()
  return (
    <Page
      name="Services"
      lead="Processes that report to the stores, with their consumers and sinks, wherever they run."
    >
      {error && <ErrorNote error={error} onRetry={refetch} />}
      <MissingData faults={data?.faults} />
      {data === undefined ? (
        !error && <Loading rows={8} />
      ) : data.instances.length === 0 ? (
        <Panel>
          <Empty title="No processes">
            A process appears here after it calls <code>joinFleet()</code> with a store of this server. The
            guide <code>docs/guides/fleet.md</code> shows how.
          </Empty>
        </Panel>
      ) : (
        <Services instances={data.instances} />
      )}
      <Outcomes instances={data?.instances ?? []} />
    </Page>
  )
}

function Services({ instances }: { instances: readonly FleetInstance[] }) {
  const services = servicesOf(instances)
  const limit = Math.max(FEWEST_AT_FIRST, Math.floor(MOST_AT_FIRST / services.length))
  return services.map(service => <ServicePanel key={service.name} service={service} limit={limit} />)
}
