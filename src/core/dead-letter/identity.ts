import type { LazaretEvent } from '../event/event.ts'
import { uuidv7Time } from '../event/uuid.ts'
import { hash128 } from '../hash.ts'

/**
 * The id of the letter that (channel, handler, event id) has, wherever and however often it is saved. It is a UUIDv8
 * (RFC 9562) made of nothing but these three: where the event's id tells a time, that comes first, so such letters
 * sort by it, and a hash of the identity fills the rest. Other times of the event are not looked at, because a broker
 * that gives foreign messages their time of arrival would give each delivery another letter.
 */
export function letterId(channel: string, handler: string, event: Pick<LazaretEvent, 'id'>): string {
  // JSON keeps the three apart whatever they contain.
  const hash = hash128(JSON.stringify([channel, handler, event.id]))
  const first =
    uuidv7Time(event.id) === undefined
      ? hash.slice(20)
      : event.id.toLowerCase().replaceAll('-', '').slice(0, 12)
  const variant = (8 | (Number.parseInt(hash.charAt(3), 16) & 3)).toString(16)
  return `${first.slice(0, 8)}-${first.slice(8)}-8${hash.slice(0, 3)}-${variant}${hash.slice(4, 7)}-${hash.slice(7, 19)}`
}
