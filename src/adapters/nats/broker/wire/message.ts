import type { NatsMessage } from '../../connection/client.ts'
import type { HeaderReader } from '../../connection/header-reader.ts'
import type { HeaderList } from '../../connection/headers.ts'

/** The parts of a message that an event is written to and read from. */
export interface EventMessage {
  readonly subject: string
  readonly data: Uint8Array
  readonly headers: HeaderList
}

/** A message that a consumer of JetStream delivered. Its reply subject says where it is from. */
export interface StreamMessage extends EventMessage {
  readonly stream: string
  /** Its number in the stream. */
  readonly sequence: number
  /** The number of its delivery among all deliveries of the consumer. */
  readonly deliverySequence: number
  /** How often it was delivered, this time included. */
  readonly deliveries: number
  /** Epoch milliseconds at which the stream received it. */
  readonly storedAt: number
  /** Where acknowledgements go. */
  readonly ackSubject: string
}

/** $JS.ACK.stream.consumer.deliveries.sequence.deliverySequence.time.pending */
const SHORT_TOKENS = 9
/** $JS.ACK.domain.account.stream.consumer.deliveries.sequence.deliverySequence.time.pending.random */
const MORE_TOKENS = 2
const ACK_PREFIX = '$JS.ACK.'
/** A number cannot hold the nanoseconds, and would be rounded to another millisecond than that of the stored message. */
const NANOSECOND_DIGITS = 6

/** Undefined if the message does not come from a consumer. */
export function toStreamMessage(message: NatsMessage, reader: HeaderReader): StreamMessage | undefined {
  const { reply } = message
  if (reply === undefined || !reply.startsWith(ACK_PREFIX)) return undefined
  const place = shortPlaceOf(reply) ?? placeOf(reply)
  if (place === undefined) return undefined
  const { subject, data } = message
  return {
    subject,
    data,
    headers: headersOf(message, data, subject.length + reply.length, reader),
    stream: place.stream,
    sequence: place.sequence,
    deliverySequence: place.deliverySequence,
    deliveries: place.deliveries,
    storedAt: place.storedAt,
    ackSubject: reply,
  }
}

/** The number of a message in its stream, by where it is acknowledged. */
export function streamSequenceOf(ackSubject: string): number {
  return Number(ackTokens(ackSubject)[3])
}

/** The number of a delivery among all deliveries of its consumer, by where it is acknowledged. */
export function deliverySequenceOf(ackSubject: string): number {
  return Number(ackTokens(ackSubject)[4])
}

type Place = Pick<StreamMessage, 'stream' | 'sequence' | 'deliverySequence' | 'deliveries' | 'storedAt'>

function placeOf(ackSubject: string): Place | undefined {
  const [stream, , deliveries, sequence, deliverySequence, time] = ackTokens(ackSubject)
  if (stream === undefined || time === undefined) return undefined
  return {
    stream,
    sequence: Number(sequence),
    deliverySequence: Number(deliverySequence),
    deliveries: Number(deliveries),
    storedAt: Number(time.slice(0, -NANOSECOND_DIGITS)),
  }
}

/** The same for the short form, without a text for each part. Undefined for every other form. */
function shortPlaceOf(ackSubject: string): Place | undefined {
  const from = ACK_PREFIX.length
  const streamEnd = ackSubject.indexOf('.', from)
  const consumerEnd = nextDot(ackSubject, streamEnd)
  const deliveriesEnd = nextDot(ackSubject, consumerEnd)
  const sequenceEnd = nextDot(ackSubject, deliveriesEnd)
  const deliverySequenceEnd = nextDot(ackSubject, sequenceEnd)
  const timeEnd = nextDot(ackSubject, deliverySequenceEnd)
  if (timeEnd === -1 || nextDot(ackSubject, timeEnd) !== -1) return undefined
  return {
    stream: ackSubject.slice(from, streamEnd),
    sequence: digits(ackSubject, deliveriesEnd + 1, sequenceEnd),
    deliverySequence: digits(ackSubject, sequenceEnd + 1, deliverySequenceEnd),
    deliveries: digits(ackSubject, consumerEnd + 1, deliveriesEnd),
    storedAt: digits(ackSubject, deliverySequenceEnd + 1, timeEnd - NANOSECOND_DIGITS),
  }
}

/** -1 if there is none, or if there was none before. */
function nextDot(text: string, dot: number): number {
  return dot === -1 ? -1 : text.indexOf('.', dot + 1)
}

const ZERO = 0x30

/** NaN if one of the characters is not a digit. */
function digits(text: string, from: number, to: number): number {
  let value = 0
  for (let at = from; at < to; at++) {
    const digit = text.charCodeAt(at) - ZERO
    if (digit < 0 || digit > 9) return Number.NaN
    value = 10 * value + digit
  }
  return value
}

function ackTokens(ackSubject: string): readonly string[] {
  const tokens = ackSubject.split('.')
  return tokens.slice(tokens.length === SHORT_TOKENS ? 2 : 2 + MORE_TOKENS)
}

/**
 * The client reads headers slowly, and gives up the connection when the name of one has a space in it. Their bytes stand before the
 * data, where it received both. Should that not be so, the bytes are not those of headers, and those of the client are taken.
 */
function headersOf(
  message: NatsMessage,
  data: Uint8Array,
  subjectBytes: number,
  reader: HeaderReader,
): HeaderList {
  const length = (message.size?.() ?? 0) - subjectBytes - data.length
  const from = data.byteOffset - length
  const read = length > 0 && from >= 0 ? reader.read(Buffer.from(data.buffer, from, length)) : undefined
  if (read !== undefined) return read
  return message.headers === undefined ? [] : listOf(message.headers)
}

function listOf(headers: Iterable<readonly [string, readonly string[]]>): HeaderList {
  const list: (readonly [string, string])[] = []
  for (const [name, values] of headers) for (const value of values) list.push([name, value])
  return list
}
