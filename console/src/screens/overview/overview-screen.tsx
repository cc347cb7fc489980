import { useOverview } from '../../api/queries.ts'
import type { Overview } from '../../api/types.ts'
import { counted } from '../../lib/numbers.ts'
import { LinkButton } from '../../ui/buttons.tsx'
import { ErrorNote, Loading, MissingData } from '../../ui/notes.tsx'
import { Page, Panel } from '../../ui/page.tsx'
import { Alerts } from './alerts.tsx'
import { Board } from './board.tsx'
import { RunningReplays } from './running-replays.tsx'
import { Stores } from './stores.tsx'
import { TopGroups } from './top-groups.tsx'
import './overview.css'

export function OverviewScreen() {
  const { data, error, refetch } = useOverview()
  return (
    <Page name="Overview" lead={data ? <OverviewSummary overview={data} /> : ' '}>
      {error && <ErrorNote error={error} onRetry={refetch} />}
      <MissingData faults={data?.faults} />
      {data === undefined ? (
        !error && <Loading rows={9} />
      ) : (
        <>
          <Board overview={data} />
          <div className="columns">
            <Panel
              title="Top groups"
              bare
              aside={
                <LinkButton href="/groups" look="quiet">
                  {counted(data.groups.open, 'open group')}
                </LinkButton>
              }
            >
              <TopGroups groups={data.topGroups} />
            </Panel>
            <div className="stack">
              <Panel
                title="Alerts"
                aside={
                  <LinkButton href="/channels" look="quiet">
                    All channels
                  </LinkButton>
                }
              >
                <Alerts alerts={data.alerts} />
              </Panel>
              <Panel title="Active replays">
                <RunningReplays replays={data.runningReplays} />
              </Panel>
              <Panel title="Stores">
                <Stores stores={data.stores} />
              </Panel>
            </div>
          </div>
        </>
      )}
    </Page>
  )
}

/** One sentence that tells a person on call whether to act. */
function OverviewSummary({
  overview: { groups, breakers, letters, stores, alerts },
}: {
  overview: Overview
}) {
  const down = stores.filter(store => !store.up).length
  if (down > 0) return <>A store is unreachable; some data is missing.</>
  if (groups.regressed > 0) return <>A resolved group has regressed.</>
  if (breakers.open > 0) return <>A circuit breaker is open: a dependency is failing.</>
  if (alerts.length > 0) return <>A channel is over an alert limit.</>
  if (groups.new24h > 0) return <>A new group appeared in the last 24 hours.</>
  if (letters.waiting > 0) return <>No new groups. Letters of known groups are waiting.</>
  return <>No letters are waiting.</>
}
