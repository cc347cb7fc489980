import type { LazaretEvent } from '../event/event.ts'
import { uuidv7Time } from '../event/uuid.ts'
import { hash128 } from '../hash.ts'

/**
 * The id of the letter with this channel, handler and event id. It is the same wherever and however often the letter is
 * saved. The id is a UUIDv8 (RFC 9562). It begins with the time in the event's id, if there is one, so that letters sort
 * by time. A hash of the three parts fills the rest. Other times of the event are not used: some brokers set them to the
 * time of arrival, and then each delivery would get its own letter.
 */
export function letterId(channel: string, handler: string, event: Pick<LazaretEvent, 'id'>): string {
  // JSON separates the three parts, whatever characters they contain.
  const hash = hash128(JSON.stringify([channel, handler, event.id]))
  const first =
    uuidv7Time(event.id) === undefined
      ? hash.slice(20)
      : event.id.toLowerCase().replaceAll('-', '').slice(0, 12)
  const variant = (8 | (Number.parseInt(hash.charAt(3), 16) & 3)).toString(16)
  return `${first.slice(0, 8)}-${first.slice(8)}-8${hash.slice(0, 3)}-${variant}${hash.slice(4, 7)}-${hash.slice(7, 19)}`
}
