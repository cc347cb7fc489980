import { useChannels } from '../../api/queries.ts'
import { Empty, ErrorNote, Loading, MissingData } from '../../ui/notes.tsx'
import { Outcomes } from '../../ui/outcomes.tsx'
import { Page, Panel } from '../../ui/page.tsx'
import { Table } from '../../ui/table.tsx'
import { ChannelRows } from './channel-rows.tsx'
import { WaitingOverTime } from './waiting-over-time.tsx'
import './channels.css'

export function ChannelsScreen() {
  const { data, error, refetch } = useChannels()
  return (
    <Page
      name="Channels"
      lead="Consumers in all living processes, their circuit breakers, and new and waiting dead letters by channel."
    >
      {error && <ErrorNote error={error} onRetry={refetch} />}
      <MissingData faults={data?.faults} />
      {data === undefined ? (
        !error && <Loading rows={8} />
      ) : data.channels.length === 0 ? (
        <Panel>
          <Empty title="No channels">
            Channels appear here once they have a consumer in a living process or a dead letter.
          </Empty>
        </Panel>
      ) : (
        <>
          <Panel bare>
            <Table kind="channels" wide>
              <Head />
              {data.channels.map(channel => (
                <ChannelRows key={channel.channel} channel={channel} />
              ))}
            </Table>
          </Panel>
          <WaitingOverTime channels={data.channels} />
        </>
      )}
      <Outcomes />
    </Page>
  )
}

function Head() {
  return (
    <thead>
      <tr>
        <th scope="col">Channel</th>
        <th scope="col" className="col-inflow">
          Letters, last hour
        </th>
        <th scope="col" className="col-breaker">
          Breaker
        </th>
        <th scope="col" className="number col-rate">
          Failure rate
        </th>
        <th scope="col" className="number col-work">
          In progress
        </th>
        <th scope="col" className="number col-lag">
          In broker
        </th>
        <th scope="col" className="col-last">
          Last processed
        </th>
        <th scope="col" className="col-act">
          <span className="unseen">Actions</span>
        </th>
      </tr>
    </thead>
  )
}
