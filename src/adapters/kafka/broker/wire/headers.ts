import { LETTER_HEADERS } from '../../../../adapter-kit/wire/letter-headers.ts'
import type { RecordHeaders, TextHeaders } from '../../connection/records.ts'

/** Every header of Lazaret. The headers of the event itself keep their own names. */
export const OWN = {
  /** What CloudEvents have no attribute for, as JSON. It says that Lazaret wrote the message. */
  event: 'lazaret-event',
  /** The attempts, the wait and the first place of a message that was published again, as JSON. */
  log: 'lazaret-log',
  /** Tells the consumers that keep an order that a key is unblocked. It is the id of the dead-lettered event. */
  unblockKey: 'lazaret-unblock',
  /** The state of an event that waits for others of its key, as JSON. */
  held: 'lazaret-held',
  ...LETTER_HEADERS,
  originalTopic: 'lazaret-original-topic',
  originalPartition: 'lazaret-original-partition',
  originalOffset: 'lazaret-original-offset',
  originalTimestamp: 'lazaret-original-timestamp',
} as const

export const CONTENT_TYPE = 'content-type'
export const CLOUD_EVENT_PREFIX = 'ce_'

/** Headers that a reader takes for something else than a header of the event. */
export function isReserved(name: string): boolean {
  return name.startsWith(CLOUD_EVENT_PREFIX) || isOfLazaret(name) || isContentType(name)
}

export function isOfLazaret(name: string): boolean {
  return name.startsWith('lazaret-')
}

type HeaderEntry = RecordHeaders[number]

/** Names repeat in every message, so that their bytes are kept. */
const NAMES = new Map<string, Buffer>()
const MAX_NAMES = 1_000

export function header(name: string, value: string): HeaderEntry {
  let bytes = NAMES.get(name)
  if (bytes === undefined) {
    bytes = Buffer.from(name)
    if (NAMES.size < MAX_NAMES) NAMES.set(name, bytes)
  }
  return [bytes, Buffer.from(value)]
}

/** The last value of a header; undefined if it is missing or null. */
export function headerText(headers: RecordHeaders, name: string): string | undefined {
  for (let at = headers.length - 1; at >= 0; at--) {
    const [bytes, value] = headers[at]!
    if (isNamed(bytes, name)) return value?.toString('utf8')
  }
  return undefined
}

/** A record, or the parts of one that was not read from a topic. */
interface WithHeaders {
  readonly headers: RecordHeaders
  headerTexts?(): TextHeaders
}

/** All headers as texts, by name. Of several headers of one name the last one counts, and null is an empty text. */
export class HeaderTexts {
  readonly #texts: TextHeaders

  constructor(record: WithHeaders) {
    this.#texts = record.headerTexts?.() ?? {
      names: record.headers.map(([name]) => name.toString('utf8')),
      values: record.headers.map(([, value]) => value?.toString('utf8') ?? ''),
    }
  }

  get names(): readonly string[] {
    return this.#texts.names
  }

  /** A record has few headers, so that a map of them costs more than to look through them. */
  get(name: string): string | undefined {
    const { names, values } = this.#texts
    return values[names.lastIndexOf(name)]
  }

  /** The content type. Some programs write its name in another case. */
  get contentType(): string | undefined {
    const { names, values } = this.#texts
    return this.get(CONTENT_TYPE) ?? values[names.findLastIndex(isContentType)]
  }
}

function isContentType(name: string): boolean {
  return name.length === CONTENT_TYPE.length && name.toLowerCase() === CONTENT_TYPE
}

/** The headers without those of these names. */
export function withoutHeaders(headers: RecordHeaders, ...names: readonly string[]): HeaderEntry[] {
  return headers.filter(([bytes]) => !names.some(name => isNamed(bytes, name)))
}

/** Most names differ in their length, and to read a text costs more than to compare that. */
function isNamed(bytes: Buffer, name: string): boolean {
  return bytes.length === name.length && bytes.toString('latin1') === name
}
