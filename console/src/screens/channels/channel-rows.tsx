import { Link } from 'wouter'
import type { BreakerStats, Channel, ChannelConsumer } from '../../api/types.ts'
import { percent, whole } from '../../lib/numbers.ts'
import { plainText } from '../../lib/plain-text.ts'
import { Sparkline } from '../../ui/charts.tsx'
import { NotConsuming, PausedTag } from '../../ui/pauses.tsx'
import { BreakerTag } from '../../ui/tags.tsx'
import { RelativeTime } from '../../ui/time.tsx'
import { ConsumerActions } from './consumer-actions.tsx'

/** A channel: what arrives of it, and a line for each of its consumers. */
export function ChannelRows({ channel }: { channel: Channel }) {
  const [first, ...others] = channel.consumers
  return (
    <tbody>
      <tr>
        <td>
          <strong className="external-text">{plainText(channel.channel)}</strong>
          <Handler consumer={first} />
        </td>
        <td>
          <Inflow channel={channel} />
        </td>
        {first === undefined ? (
          <td colSpan={6} className="small quiet">
            No consumer runs in this process. <Link href="/services">Services</Link> shows those of other
            processes.
          </td>
        ) : (
          <Cells channel={channel.channel} consumer={first} />
        )}
      </tr>
      {others.map(consumer => (
        <tr key={consumer.handler} className="also">
          <td>
            <Handler consumer={consumer} />
          </td>
          <td />
          <Cells channel={channel.channel} consumer={consumer} />
        </tr>
      ))}
    </tbody>
  )
}

function Handler({ consumer }: { consumer: ChannelConsumer | undefined }) {
  if (consumer === undefined) return null
  const { handler, paused } = consumer
  return (
    <div className="small quiet external-text">
      {plainText(handler)}
      <NotConsuming paused={paused} />
    </div>
  )
}

function Inflow({ channel: { channel, inflow, letters } }: { channel: Channel }) {
  return (
    <>
      <Sparkline counts={inflow.perMinute} unit="minute" width={150} height={20} wide />
      <div className="small quiet">
        {whole(inflow.lastHour)} in the last hour ·{' '}
        <Link href={`/letters?${new URLSearchParams({ channel })}`}>{whole(letters.waiting)} waiting</Link>
      </div>
    </>
  )
}

function BreakerNumbers({ stats }: { stats: BreakerStats }) {
  const { calls, failures, rejected, lastFailureAt, lastChangeAt } = stats
  return (
    <div className="small quiet">
      {whole(failures)} of {whole(calls)} calls failed{rejected > 0 && `, ${whole(rejected)} refused`}
      {lastFailureAt && (
        <div>
          <RelativeTime at={lastFailureAt} prefix="last failure " />
        </div>
      )}
      {lastChangeAt && (
        <div>
          <RelativeTime at={lastChangeAt} prefix="last change " />
        </div>
      )}
    </div>
  )
}

function Cells({ channel, consumer }: { channel: string; consumer: ChannelConsumer }) {
  const { breaker, breakerStats, retryAt, paused, failureRate, active, waiting, depth, lastProcessedAt } =
    consumer
  return (
    <>
      <td>
        <BreakerTag state={breaker} />
        {retryAt && (
          <div className="small quiet">
            <RelativeTime at={retryAt} prefix="next probe " />
          </div>
        )}
        {breakerStats && <BreakerNumbers stats={breakerStats} />}
        {paused.includes('manual') && <PausedTag />}
      </td>
      <td className={failureRate > 0.2 ? 'number strong failing' : 'number'}>{percent(failureRate)}</td>
      <td className="number">
        {whole(active)}
        {waiting > 0 && <div className="small quiet">{whole(waiting)} waiting</div>}
      </td>
      <td className="number">{depth === undefined ? <span className="quiet">–</span> : whole(depth)}</td>
      <td className="quiet">{lastProcessedAt ? <RelativeTime at={lastProcessedAt} /> : 'Never'}</td>
      <td>
        <ConsumerActions channel={channel} consumer={consumer} />
      </td>
    </>
  )
}
