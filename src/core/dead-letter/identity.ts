import type { LazaretEvent } from '../event/event.ts'
import { isKnownBySource } from '../event/source-and-id.ts'
import { isUuidv7 } from '../event/uuid.ts'
import { hash128 } from '../hash.ts'

/** The digits that a UUID may have at the place of its variant. */
const VARIANTS = '89ab'

/**
 * The id of the letter with this channel, handler and event id. It is the same wherever and however often the letter is
 * saved. The id is a UUIDv8 (RFC 9562). It begins with the time in the event's id, if there is one, so that letters sort
 * by time. A hash of the parts fills the rest. Other times of the event are not used: some brokers set them to the
 * time of arrival, and then each delivery would get its own letter. The source of a foreign CloudEvent is the fourth part,
 * because two sources may use one id.
 */
export function letterId(
  channel: string,
  handler: string,
  event: Pick<LazaretEvent, 'id'> & Partial<Pick<LazaretEvent, 'source' | 'idempotencyKey'>>,
): string {
  const parts = [channel, handler, event.id]
  if (isKnownBySource(event)) parts.push(event.source)
  // JSON separates the parts, whatever characters they contain.
  const hash = hash128(JSON.stringify(parts))
  // The first two parts of a UUIDv7 are its time.
  const first = isUuidv7(event.id)
    ? event.id.slice(0, 13).toLowerCase()
    : `${hash.slice(20, 28)}-${hash.slice(28)}`
  const variant = VARIANTS.charAt(Number.parseInt(hash.charAt(3), 16) & 3)
  return `${first}-8${hash.slice(0, 3)}-${variant}${hash.slice(4, 7)}-${hash.slice(7, 19)}`
}
