import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { JsonValue, LazaretEvent } from '../core/event/event.ts'
import { replayHeaders } from '../core/event/replay-headers.ts'
import type { Replay } from '../ports/replays.ts'
import { applyPatch } from './json-patch.ts'

/**
 * The event as a replay sends it: the same id and idempotency key, and headers that say what it is. They replace those
 * of an earlier replay, so that they never pile up. An edited payload goes out; the letter keeps the original.
 */
export function replayEvent(letter: DeadLetter, replay: Replay, cycle: number): LazaretEvent {
  const { event } = letter
  return {
    ...event,
    channel: replay.to ?? letter.channel,
    headers: replayHeaders(event, {
      attempt: cycle,
      replayId: replay.id,
      letterId: letter.id,
      // A broker may hand it to every handler of the channel; the others did not fail and leave it alone.
      handler: replay.to === undefined ? letter.handler : undefined,
    }),
    payload: payloadOf(letter, replay),
  }
}

/** What would be sent: the original, or the patch applied to it. */
export function payloadOf({ event }: DeadLetter, { patch }: Pick<Replay, 'patch'>): unknown {
  return patch === undefined ? event.payload : applyPatch(event.payload as JsonValue, patch)
}
