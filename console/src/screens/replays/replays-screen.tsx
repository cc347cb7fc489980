import { useReplays } from '../../api/queries.ts'
import { LATEST_REPLAYS, replaysQuery } from '../../api/screen-queries.ts'
import { useParams } from '../../lib/use-search-params.ts'
import { Select } from '../../ui/fields.tsx'
import { ErrorNote, Loading, MissingData } from '../../ui/notes.tsx'
import { Page, Panel } from '../../ui/page.tsx'
import '../../ui/search-field.css'
import { AgentsPanel } from './agents-panel.tsx'
import { ReplayTable } from './replay-table.tsx'

const STATES = [
  ['', 'All states'],
  ['planned', 'Planned'],
  ['approved', 'Approved'],
  ['running', 'Running'],
  ['paused', 'Paused'],
  ['halted', 'Halted'],
  ['finished', 'Finished'],
  ['cancelled', 'Cancelled'],
] as const

export function ReplaysScreen() {
  const [params, setParams] = useParams()
  const state = params.get('state') ?? ''
  const { data, error, refetch } = useReplays(replaysQuery(params))
  return (
    <Page
      name="Replays"
      lead="Frozen selections of letters, sent again in stages. A replay halts automatically if too many letters fail again."
    >
      <div className="filters">
        <Select
          label="State"
          hideLabel
          value={state as ''}
          of={STATES as never}
          onChange={chosen => setParams({ state: chosen })}
        />
      </div>
      {error && <ErrorNote error={error} onRetry={refetch} />}
      <MissingData faults={data?.faults} />
      {data === undefined ? (
        !error && <Loading />
      ) : (
        <Panel bare>
          <ReplayTable
            replays={data.replays}
            empty={
              state === ''
                ? 'Open a group and plan a replay. Nothing is sent until you start it.'
                : 'No replay is in this state. Choose another state.'
            }
          />
        </Panel>
      )}
      {data && <AgentsPanel replays={data.replays} />}
      {data && data.replays.length === LATEST_REPLAYS && (
        <p className="quiet small">Showing the latest {LATEST_REPLAYS} replays.</p>
      )}
    </Page>
  )
}
