import { useOverview } from '../../api/queries.ts'
import type { Overview } from '../../api/types.ts'
import { LinkButton } from '../../ui/buttons.tsx'
import { Missing, Trouble, Waiting } from '../../ui/notes.tsx'
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
    <Page name="Overview" lead={data ? <Verdict overview={data} /> : ' '}>
      {error && <Trouble error={error} onRetry={refetch} />}
      <Missing faults={data?.faults} />
      {data === undefined ? (
        !error && <Waiting rows={9} />
      ) : (
        <>
          <Board overview={data} />
          <div className="columns">
            <Panel
              title="What fails most"
              bare
              aside={
                <LinkButton href="/groups" look="quiet">{`All ${data.groups.open} open groups`}</LinkButton>
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
              <Panel title="Replays under way">
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

/** One sentence, so that whoever was woken knows whether to sit down. */
function Verdict({ overview: { groups, breakers, letters, stores, alerts } }: { overview: Overview }) {
  const down = stores.filter(store => !store.up).length
  if (down > 0) return <>A store does not answer: what is shown is not all.</>
  if (groups.regressed > 0) return <>Something that was resolved is back.</>
  if (breakers.open > 0) return <>A dependency is sick; its consumer waits for it.</>
  if (alerts.length > 0) return <>More waits in a channel, or for longer, than it should.</>
  if (groups.new24h > 0) return <>Something new fails since yesterday.</>
  if (letters.waiting > 0) return <>Nothing new. What waits is known.</>
  return <>All is well: no letter waits.</>
}
