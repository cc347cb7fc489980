import { LETTER_HEADERS } from '../../../../adapter-kit/wire/letter-headers.ts'
import { HEADER_NAME, MAX_HEADER_NAME_BYTES } from '../../../../core/event/limits.ts'
import { type HeaderList, withoutHeaders } from '../../connection/headers.ts'

/** Every header of Lazaret. The headers of the event itself keep their own names. */
export const OWN = {
  /** What CloudEvents have no attribute for, as JSON. It says that Lazaret wrote the message. */
  event: 'lazaret-event',
  /** The attempts, the wait and the first position of a message that was published again, as JSON. */
  log: 'lazaret-log',
  /** Tells the consumer that keeps the order that a key is unblocked. It is the id of the dead-lettered event. */
  unblockKey: 'lazaret-unblock',
  /** The state of an event that waits for others of its key, as JSON. */
  held: 'lazaret-held',
  ...LETTER_HEADERS,
  originalStream: 'lazaret-original-stream',
  originalSubject: 'lazaret-original-subject',
  originalSequence: 'lazaret-original-sequence',
  originalTimestamp: 'lazaret-original-timestamp',
} as const

export const CONTENT_TYPE = 'content-type'
export const CLOUD_EVENT_PREFIX = 'ce-'
/** The server reads these headers of a message that is published, and adds some to those it delivers. */
const SERVER_PREFIX = 'nats-'

/** Headers that a reader takes for something else than a header of the event. */
export function isReserved(name: string): boolean {
  const lower = name.toLowerCase()
  return lower.startsWith(CLOUD_EVENT_PREFIX) || lower === CONTENT_TYPE || isOfTransport(lower)
}

/** Headers that the sender of a message did not write: those of Lazaret and of the server. */
export function isOfTransport(name: string): boolean {
  return name.toLowerCase().startsWith('lazaret-') || isOfServer(name)
}

/** Whether an event can have this header. */
export function canBeOfEvent(name: string, text: string): boolean {
  if (name.length > MAX_HEADER_NAME_BYTES || !HEADER_NAME.test(name) || name === '__proto__') return false
  return !text.includes('\0') && text.isWellFormed()
}

/** Headers that mean something in our own streams only. A message of the channel can have them from anybody. */
const OF_OUR_STREAMS: ReadonlySet<string> = new Set([OWN.log, OWN.held, OWN.unblockKey])

/** The headers of a message that is published again. Those of the server and what we noted of its attempts are left out. */
export function keptHeaders(headers: HeaderList): HeaderList {
  return withoutHeaders(headers, name => OF_OUR_STREAMS.has(name) || isOfServer(name))
}

/** Whether a header is between a publisher and the server. It is left out when the message is published again. */
export function isOfServer(name: string): boolean {
  return name.toLowerCase().startsWith(SERVER_PREFIX)
}

export function asciiJson(value: unknown): string {
  return inAscii(JSON.stringify(value))
}

/** JSON text in ASCII: a header has no other characters that every client reads the same. */
export function inAscii(json: string): string {
  return json.replaceAll(/[\u007f-\uffff]/g, char => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
}
