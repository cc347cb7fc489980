import { APP_ID } from '../broker/wire/encode.ts'
import { readTable, type TableEntry, WireValue } from '../broker/wire/table.ts'
import type { AmqpHeaders, AmqpProperties } from './amqp.ts'

const HEADER_FRAME = 2
const FRAME_HEAD_BYTES = 7
const FRAME_END_BYTES = 1
/** Class, weight and body size come before the flags. */
const FLAGS_AT = 12
const HAS_CONTENT_TYPE = 1 << 15
const HAS_CONTENT_ENCODING = 1 << 14
const HAS_HEADERS = 1 << 13

/** What is used of the client's connection beyond what it promises. */
interface Inner {
  rest: Buffer
  readonly maxFrameSize: number
  recvSinceLastCheck: boolean
  readonly stream: { read(): Buffer | null }
  recvFrame(): { readonly fields?: AmqpProperties } | false
}

const TABLES = new WeakMap<object, Buffer>()

/**
 * Keeps the headers of other programs' messages as they came. The client makes numbers of nine types of number, texts of bytes that
 * are none, and loses a header named `__proto__`; what it made cannot be sent on as it was. A connection that does not
 * show its frames stays as it is.
 */
export function keepRawHeaders(connection: unknown): void {
  const inner = (connection as { connection?: Partial<Inner> }).connection
  if (!isInner(inner)) return
  const receive = inner.recvFrame.bind(inner)
  inner.recvFrame = () => {
    if (!hasWholeFrame(inner)) return false
    const bytes = inner.rest
    const frame = receive()
    if (bytes[0] === HEADER_FRAME && frame !== false && frame.fields !== undefined) {
      const { headers, appId } = frame.fields
      if (headers !== undefined && appId !== APP_ID) keepTable(frame.fields, payloadOf(bytes))
    }
    return frame
  }
}

/** The headers of a message as they were on the wire, without those of our own messages; undefined where nobody kept them. */
export function rawHeaders(properties: AmqpProperties): readonly TableEntry[] | undefined {
  const table = TABLES.get(properties)
  if (table === undefined) return undefined
  try {
    return readTable(table)
  } catch {
    return undefined
  }
}

/** The headers with every value as it was on the wire, where that is known. */
export function wireHeaders(properties: AmqpProperties): AmqpHeaders {
  const { headers = {} } = properties
  const raw = rawHeaders(properties)
  if (raw === undefined) return headers
  const wire: [string, WireValue][] = raw.map(({ name, value }) => [
    name,
    new WireValue(value, Object.hasOwn(headers, name) ? headers[name] : undefined),
  ])
  return Object.fromEntries(wire)
}

/** From the payload of a header frame. */
export function keepTable(fields: AmqpProperties, payload: Buffer): void {
  const flags = payload.readUInt16BE(FLAGS_AT)
  if ((flags & HAS_HEADERS) === 0) return
  let at = FLAGS_AT + 2
  for (const flag of [HAS_CONTENT_TYPE, HAS_CONTENT_ENCODING])
    if ((flags & flag) !== 0) at += 1 + payload[at]!
  const length = payload.readUInt32BE(at)
  TABLES.set(fields, payload.subarray(at + 4, at + 4 + length))
}

function payloadOf(bytes: Buffer): Buffer {
  return bytes.subarray(FRAME_HEAD_BYTES, FRAME_HEAD_BYTES + bytes.readUInt32BE(3))
}

/** Reads until there is a frame, so that it can be looked at before the client takes it apart. */
function hasWholeFrame(inner: Inner): boolean {
  while (!isWhole(inner)) {
    const incoming = inner.stream.read()
    if (incoming === null) return false
    inner.recvSinceLastCheck = true
    inner.rest = Buffer.concat([inner.rest, incoming])
  }
  return true
}

function isWhole({ rest, maxFrameSize }: Inner): boolean {
  if (rest.length < FRAME_HEAD_BYTES) return false
  const size = rest.readUInt32BE(3)
  // One that is too large is the client's to refuse.
  return (maxFrameSize > 0 && size > maxFrameSize) || rest.length >= FRAME_HEAD_BYTES + size + FRAME_END_BYTES
}

function isInner(value: Partial<Inner> | undefined): value is Inner {
  return (
    typeof value?.recvFrame === 'function' &&
    Buffer.isBuffer(value.rest) &&
    typeof value.stream?.read === 'function' &&
    typeof value.maxFrameSize === 'number'
  )
}
