import { useReplays } from '../../api/queries.ts'
import { useParams } from '../../lib/use-search-params.ts'
import { Choice } from '../../ui/fields.tsx'
import { Missing, Trouble, Waiting } from '../../ui/notes.tsx'
import { Page, Panel } from '../../ui/page.tsx'
import '../../ui/search-field.css'
import { ReplayTable } from './replay-table.tsx'

const STATES = [
  ['', 'Every state'],
  ['planned', 'Planned'],
  ['approved', 'Approved'],
  ['running', 'Running'],
  ['paused', 'Paused'],
  ['halted', 'Halted'],
  ['finished', 'Finished'],
  ['cancelled', 'Cancelled'],
] as const

const LATEST = 200

export function ReplaysScreen() {
  const [params, setParams] = useParams()
  const state = params.get('state') ?? ''
  const { data, error, refetch } = useReplays({ state, limit: LATEST })
  return (
    <Page
      name="Replays"
      lead="Frozen selections of letters, sent again in stages and watched. One that does not help halts by itself."
    >
      <div className="filters">
        <Choice
          label="State"
          hideLabel
          value={state as ''}
          of={STATES as never}
          onChange={chosen => setParams({ state: chosen }, { replace: true })}
        />
      </div>
      {error && <Trouble error={error} onRetry={refetch} />}
      <Missing faults={data?.faults} />
      {data === undefined ? (
        !error && <Waiting />
      ) : (
        <Panel bare>
          <ReplayTable
            replays={data.replays}
            empty={
              state === ''
                ? 'Open a group and plan one: nothing is sent before you have seen what would be.'
                : 'None is in this state. Look at every state instead.'
            }
          />
        </Panel>
      )}
      {data && data.replays.length === LATEST && (
        <p className="quiet small">The latest {LATEST} are shown.</p>
      )}
    </Page>
  )
}
