import { Link } from 'wouter'
import { useChannels } from '../../api/queries.ts'
import type { Replay } from '../../api/types.ts'
import { counted, whole } from '../../lib/numbers.ts'
import { plainText } from '../../lib/plain-text.ts'
import { Note } from '../../ui/notes.tsx'
import { RelativeTime } from '../../ui/time.tsx'

const ENDED: ReadonlySet<Replay['state']> = new Set(['finished', 'cancelled'])

/** Letters that another replay has recovered since this one stopped need nobody any more. */
export function RecoveredSince({ replay: { recoveredSince } }: { replay: Replay }) {
  if (recoveredSince === undefined) return null
  const { letters, of } = recoveredSince
  return (
    <Note tone="good">
      <strong>
        {letters === of
          ? `All ${counted(of, 'letter')} that this replay has not recovered have recovered since.`
          : `${whole(letters)} of ${counted(of, 'letter')} that this replay has not recovered have recovered since.`}
      </strong>
      <span>
        Another replay or a later attempt handled them.{' '}
        {letters === of ? 'You can cancel this replay.' : 'This replay skips them if you resume it.'}
      </span>
    </Note>
  )
}

/** The replay is running, but the processes that could send its letters do not. */
export function NotDelivered({ replay: { problem } }: { replay: Replay }) {
  if (problem === undefined) return null
  return (
    <Note tone="signal">
      <strong>Nobody sends the letters.</strong>
      <span className="external-text">
        <RelativeTime at={problem.since} prefix="First failure " />: {plainText(problem.reason)}. The server
        keeps trying. <Link href="/services">Services</Link> shows the processes.
      </span>
    </Note>
  )
}

/** Without a consumer the letters wait in the broker, and the replay waits for outcomes that do not come. */
export function NobodyConsumes({ replay }: { replay: Replay }) {
  const { data } = useChannels()
  if (data === undefined || ENDED.has(replay.state)) return null
  const consumed = new Set(
    data.channels.filter(({ consumers }) => consumers.length > 0).map(({ channel }) => channel),
  )
  return channelsOf(replay)
    .filter(channel => !consumed.has(channel))
    .map(channel => (
      <Note key={channel} tone="signal">
        <strong className="external-text">Nobody consumes the channel {plainText(channel)}.</strong>
        <span>
          No living process reports a consumer of it. Letters that are sent wait in the broker, and the replay
          waits for their outcomes. <Link href="/services">Services</Link> shows the processes.
        </span>
      </Note>
    ))
}

/** The channels that the replay sends to, as far as the plan names them. Letters of sinks go to no channel. */
function channelsOf({ to, checks = [], selectedBy }: Replay): readonly string[] {
  if (to !== undefined) return [to]
  const checked = checks.filter(({ sink }) => sink === undefined).map(({ channel }) => channel)
  const asked = selectedBy.filter?.channel
  return [...new Set(checks.length > 0 || asked === undefined ? checked : [asked])]
}
