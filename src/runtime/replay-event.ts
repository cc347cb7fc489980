import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../core/event/event.ts'
import { movedHeader } from '../core/event/moved-values.ts'
import { replayHeaders } from '../core/event/replay-headers.ts'
import type { Replay } from '../ports/replays.ts'
import { payloadOf } from './schema-fault.ts'

/**
 * Builds the event that a replay sends: the same id and idempotency key, and headers that mark it as a replay. They replace
 * the headers of an earlier replay, so that headers do not accumulate. The letter keeps the original payload.
 */
export function replayEvent(letter: DeadLetter, replay: Replay, cycle: number): LazaretEvent {
  const { event } = letter
  return {
    ...event,
    channel: replay.to ?? letter.channel,
    headers: {
      ...replayHeaders(event, {
        attempt: cycle,
        replayId: replay.id,
        letterId: letter.id,
        // A broker may deliver it to every handler of the channel. The header lets the handlers that did not fail skip it.
        handler: replay.to === undefined ? letter.handler : undefined,
      }),
      ...movedHeader(event.headers, replay.patch),
    },
    payload: payloadOf(letter, replay),
  }
}
