import type { BreakerStats, ChannelConsumer, ChannelInstance } from '../../api/types.ts'
import { percent, whole } from '../../lib/numbers.ts'
import { RelativeTime } from '../../ui/time.tsx'

/** What only the server's own process knows of its breaker. */
export function BreakerDetails({ of: { retryAt, breakerStats } }: { of: ChannelConsumer | ChannelInstance }) {
  return (
    <>
      {retryAt && (
        <div className="small quiet">
          <RelativeTime at={retryAt} prefix="next probe " />
        </div>
      )}
      {breakerStats && <BreakerNumbers stats={breakerStats} />}
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

/** The numbers of a consumer: of one process, or of all. */
export function Numbers({ of: consumer }: { of: ChannelConsumer | ChannelInstance }) {
  const { perMinute, failureRate, active, waiting, depth, lastProcessedAt } = consumer
  return (
    <>
      <td className={failureRate > 0.2 ? 'number strong failing' : 'number'} data-name="Failure rate">
        {percent(failureRate)}
        <div className="small quiet">of {whole(perMinute)} / min</div>
      </td>
      <td className="number" data-name="In progress">
        {whole(active)}
        {waiting > 0 && <div className="small quiet">{whole(waiting)} waiting</div>}
      </td>
      <td className="number" data-name="In broker">
        {depth === undefined ? <span className="quiet">–</span> : whole(depth)}
      </td>
      <td className="quiet" data-name="Last processed">
        {lastProcessedAt ? <RelativeTime at={lastProcessedAt} /> : 'Never'}
      </td>
    </>
  )
}
