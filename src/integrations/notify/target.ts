import { alertOf } from '../../core/alert/document.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import type { Sink, WriteResult } from '../../ports/sink.ts'
import { release, retain } from '../../runtime/share.ts'

const MOST_ENDED = 1_000

/**
 * The sink of a target. A firing that was held up and comes after its own end is not sent any more: it would open an
 * incident that nobody ever closes. `taken` is called when the far side has taken something.
 */
export function targetSink(sink: Sink, taken: () => void): Sink {
  // Through the wrapping it is still the caller's sink, and may have other users.
  retain(sink)
  const ended = new Map<string, number>()

  async function write(
    batch: readonly LazaretEvent[],
    context: { readonly signal: AbortSignal },
  ): Promise<WriteResult> {
    const places = [...batch.keys()].filter(place => !isLate(batch[place]!, ended))
    if (places.length === 0) return undefined
    const result = await sink.write(
      places.map(place => batch[place]!),
      context,
    )
    const refused = new Set(result?.rejected.map(({ index }) => index))
    const delivered = places.filter((_, index) => !refused.has(index))
    for (const place of delivered) note(batch[place]!, ended)
    if (delivered.length > 0) taken()
    if (result === undefined || refused.size === 0) return undefined
    return { rejected: result.rejected.map(({ index, error }) => ({ index: places[index]!, error })) }
  }

  return {
    batch: sink.batch,
    write,
    ...(sink.probe !== undefined && { probe: sink.probe.bind(sink) }),
    close: () => release(sink),
  }
}

function isLate(event: LazaretEvent, ended: ReadonlyMap<string, number>): boolean {
  const alert = alertOf(event)
  const endedAt = alert === undefined ? undefined : ended.get(alert.key)
  return endedAt !== undefined && alert!.status !== 'resolved' && Date.parse(alert!.at) <= endedAt
}

function note(event: LazaretEvent, ended: Map<string, number>): void {
  const alert = alertOf(event)
  if (alert?.status !== 'resolved') return
  ended.delete(alert.key)
  ended.set(alert.key, Date.parse(alert.at))
  for (const oldest of ended.keys()) {
    if (ended.size <= MOST_ENDED) break
    ended.delete(oldest)
  }
}
