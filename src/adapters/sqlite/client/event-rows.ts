import type { LazaretEvent } from '../../../core/event/event.ts'
import { REPLAY_HEADERS } from '../../../core/event/replay-headers.ts'
import type { EventCodec } from '../../../ports/letter-codec.ts'
import type { EventRows } from '../calls.ts'

export function eventRows(events: readonly LazaretEvent[], codec: EventCodec): EventRows {
  const rows: (string | null)[] = []
  for (const event of events)
    rows.push(event.channel, event.id, event.key ?? null, codec.encode(event), replayOf(event))
  return rows
}

/** Which replay of the event this is. A replay that is interrupted sends again what may be on its way already. */
function replayOf({ headers }: LazaretEvent): string | null {
  const id = headers[REPLAY_HEADERS.replayId]
  return id === undefined ? null : `${id} ${headers[REPLAY_HEADERS.replayAttempt] ?? ''}`
}
