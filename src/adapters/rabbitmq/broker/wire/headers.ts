import { LETTER_HEADERS } from '../../../../adapter-kit/wire/letter-headers.ts'
import type { AmqpHeaders } from '../../connection/amqp.ts'
import { HeadersTooLargeError } from '../../errors.ts'
import { WireValue } from './table.ts'

/** The property `appId` of our messages: an event in version 1. */
export const APP_ID = 'lazaret/1'

/** Every header of Lazaret. The headers of the event itself keep their own names. */
export const OWN = {
  channel: 'lazaret-channel',
  key: 'lazaret-key',
  idempotencyKey: 'lazaret-idempotency-key',
  occurredAt: 'lazaret-occurred-at',
  expiresAt: 'lazaret-expires-at',
  source: 'lazaret-source',
  /** Headers of the event that AMQP or the server would take for something else. */
  packed: 'lazaret-headers',
  /** The content of a MessageLog, as JSON in one header: the server parses and writes every header separately. */
  log: 'lazaret-log',
  /** The place of an event in the line of its key. */
  place: 'lazaret-place',
  /** The id of a dead-lettered event that blocks its key. */
  deadEvent: 'lazaret-dead-event',
  /** Tells the consumer that keeps the order of a key that the key is unblocked. It is the id of the dead-lettered event. */
  unblockKey: 'lazaret-unblock',
  /** The only queue that the message is for. */
  unblockQueue: 'lazaret-unblock-queue',
  ...LETTER_HEADERS,
} as const

/** Headers that the server adds or reads: CC and BCC route, the others describe its own dead-lettering. */
const SERVERS =
  /^(?:CC|BCC|x-death|x-delivery-count|x-acquired-count|x-(?:first|last)-death-(?:exchange|queue|reason))$/

export function isReserved(name: string): boolean {
  return name.startsWith('lazaret-') || SERVERS.test(name)
}

/** The client writes headers into 64 KiB and fails beyond that. */
export const MAX_HEADER_BYTES = 64_000

/** An upper bound of the size of the headers on the wire. */
export function headerBytes(headers: AmqpHeaders): number {
  let bytes = 0
  // Avoids a list of entries, which would be created for every message.
  for (const name in headers) bytes += name.length + valueBytes(headers[name]) + 8
  return bytes
}

function valueBytes(value: unknown): number {
  if (typeof value === 'string') return Buffer.byteLength(value)
  if (value instanceof WireValue) return value.bytes.length
  if (Buffer.isBuffer(value)) return value.length
  if (typeof value !== 'object' || value === null) return 8
  return Object.entries(value).reduce((sum, [name, inner]) => sum + name.length + valueBytes(inner) + 8, 8)
}

/** The limit on the headers of an event. It leaves room for the attempts and the letter, which are added later. */
const MAX_EVENT_HEADER_BYTES = 40_000

export function checkHeaderBytes(headers: AmqpHeaders): number {
  const bytes = headerBytes(headers)
  if (bytes > MAX_EVENT_HEADER_BYTES) throw new HeadersTooLargeError(bytes, MAX_EVENT_HEADER_BYTES)
  return bytes
}

const ALL_OWN: ReadonlySet<string> = new Set(Object.values(OWN))

/**
 * Other programs may have filled the frame. Then their largest headers are dropped, because otherwise the message could
 * not be sent.
 */
export function dropLargestHeaders(headers: Record<string, unknown>): Record<string, unknown> {
  const kept = { ...headers }
  while (headerBytes(kept) > MAX_EVENT_HEADER_BYTES) {
    const sizes = Object.entries(kept)
      .filter(([name]) => !ALL_OWN.has(name))
      .map(([name, value]) => [name, valueBytes(value)] as const)
    const largest = sizes.sort(([, a], [, b]) => b - a)[0]
    if (largest === undefined) break
    delete kept[largest[0]]
  }
  return kept
}

/** A text, or what an AMQP client made of one; undefined when it is neither. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value
  return Buffer.isBuffer(value) ? value.toString('utf8') : undefined
}

export function countOf(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : 0
}

/** Times travel as ISO 8601, so that a person who looks into a queue can read them. */
export function timeOf(value: unknown): number | undefined {
  const text = textOf(value)
  const ms = text === undefined ? Number.NaN : Date.parse(text)
  return Number.isNaN(ms) ? undefined : ms
}

/** Most events of one moment have the same time, and formatting it takes longer than all other headers together. */
export const timeText = memoizeLast((ms: number) => new Date(ms).toISOString())

/** Remembers the last result, for functions that get the same value many times in a row. */
export function memoizeLast<V extends string | number, R>(work: (value: V) => R): (value: V) => R {
  let last: { readonly value: V; readonly result: R } | undefined
  return value => {
    if (last?.value !== value) last = { value, result: work(value) }
    return last!.result
  }
}
