import type { LazaretEvent } from '../../../core/event/event.ts'
import { replayOf, sendingOf, withoutForeignReplay } from '../../../core/event/replay-headers.ts'
import type { EventCodec } from '../../../ports/codec.ts'
import type { EventRows } from '../connection/calls.ts'

export function eventRows(events: readonly LazaretEvent[], codec: EventCodec): EventRows {
  const rows: (string | null)[] = []
  for (const given of events) {
    const event = withoutForeignReplay(given)
    const sending = sendingOf(event) ?? null
    rows.push(
      event.channel,
      event.id,
      event.key ?? null,
      codec.encode(event),
      sending,
      replayOf(event)?.handler ?? null,
    )
  }
  return rows
}
