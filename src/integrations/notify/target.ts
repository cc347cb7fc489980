import { alertOf } from '../../core/alert/document.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import type { Sink, WriteResult } from '../../ports/sink.ts'
import { rejectedItems } from '../../runtime/dispatcher/write/sink-answer.ts'
import { release, retain } from '../../runtime/share.ts'

/** The limit on remembered alerts. It exceeds the number of open alerts; the most recent ones are kept. */
const MAX_KEYS = 1_000

/**
 * Wraps the sink of a target. It does not send a late message that would reverse the state of its alert: a begin after its
 * own end would open an incident that is never closed. It calls `taken` when the receiver has accepted a message.
 */
export function targetSink(sink: Sink, taken: () => void): Sink {
  // The wrapper still uses the caller's sink, which may have other users.
  retain(sink)
  const latest = new Map<string, Latest>()

  async function write(
    batch: readonly LazaretEvent[],
    context: { readonly signal: AbortSignal },
  ): Promise<WriteResult> {
    const places = [...batch.keys()].filter(place => !isLate(batch[place]!, latest))
    if (places.length === 0) return undefined
    const answer = await sink.write(
      places.map(place => batch[place]!),
      context,
    )
    const rejected = rejectedItems('of a notifier', answer, places.length)
    const refused = new Set(rejected.map(({ index }) => index))
    const delivered = places.filter((_, index) => !refused.has(index))
    for (const place of delivered) note(batch[place]!, latest)
    if (delivered.length > 0) taken()
    if (rejected.length === 0) return undefined
    return { rejected: rejected.map(({ index, error }) => ({ index: places[index]!, error })) }
  }

  return {
    batch: sink.batch,
    write,
    ...(sink.probe !== undefined && { probe: sink.probe.bind(sink) }),
    close: () => release(sink),
  }
}

/** The newest delivered message of an alert. Ids sort by creation, even if the clock changes. */
interface Latest {
  readonly id: string
  readonly isOver: boolean
}

/**
 * Whether the message is late: a begin after its own end, or an end after the begin of the next alert with the same key,
 * which would close that one.
 */
function isLate(event: LazaretEvent, latest: ReadonlyMap<string, Latest>): boolean {
  const alert = alertOf(event)
  const known = alert === undefined ? undefined : latest.get(alert.key)
  return known !== undefined && known.isOver !== (alert!.status === 'resolved') && event.id < known.id
}

function note(event: LazaretEvent, latest: Map<string, Latest>): void {
  const alert = alertOf(event)
  if (alert === undefined) return
  const known = latest.get(alert.key)
  if (known !== undefined && known.id > event.id) return
  latest.delete(alert.key)
  latest.set(alert.key, { id: event.id, isOver: alert.status === 'resolved' })
  for (const oldest of latest.keys()) {
    if (latest.size <= MAX_KEYS) break
    latest.delete(oldest)
  }
}
