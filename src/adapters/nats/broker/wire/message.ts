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
  const [stream, , deliveries, sequence, deliverySequence, time] = ackTokens(reply)
  if (stream === undefined || time === undefined) return undefined
  const { subject, data } = message
  return {
    subject,
    data,
    headers: headersOf(message, data, subject.length + reply.length, reader),
    stream,
    sequence: Number(sequence),
    deliverySequence: Number(deliverySequence),
    deliveries: Number(deliveries),
    storedAt: Number(time.slice(0, -NANOSECOND_DIGITS)),
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
