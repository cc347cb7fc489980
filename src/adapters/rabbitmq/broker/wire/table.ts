import type { AmqpHeaders, AmqpProperties } from '../../connection/amqp.ts'

// A field table of AMQP 0-9-1 as RabbitMQ writes it: names, and values that begin with a letter for their type.

/** The types whose values have a length. */
const LONG = 'SxFA'
const LONG_LENGTH_BYTES = 4
/** Bytes of values that have always the same, by their letter. */
const FIXED: Readonly<Record<string, number>> = {
  t: 1,
  b: 1,
  B: 1,
  s: 2,
  u: 2,
  I: 4,
  i: 4,
  f: 4,
  D: 5,
  l: 8,
  d: 8,
  T: 8,
  V: 0,
}

/**
 * A value as it was on the wire, with the letter of its type first. It is written unchanged; `decoded` is the value that
 * the client read.
 */
export class WireValue {
  readonly bytes: Buffer
  readonly decoded: unknown

  constructor(bytes: Buffer, decoded: unknown) {
    this.bytes = bytes
    this.decoded = decoded
  }
}

export interface TableEntry {
  readonly name: string
  /** The bytes, with the letter of the type first. */
  readonly value: Buffer
}

/** The entries of a table, given without its length. Throws for invalid bytes. */
export function readTable(bytes: Buffer): TableEntry[] {
  const entries: TableEntry[] = []
  for (let at = 0; at < bytes.length; ) {
    const length = bytes.readUInt8(at)
    const name = bytes.toString('utf8', at + 1, at + 1 + length)
    const start = at + 1 + length
    at = endOfValue(bytes, start)
    entries.push({ name, value: bytes.subarray(start, at) })
  }
  return entries
}

/** The values of an array, given without its length. */
export function readArray(bytes: Buffer): Buffer[] {
  const values: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = endOfValue(bytes, at)
    values.push(bytes.subarray(at, end))
    at = end
  }
  return values
}

/** The bytes after the letter and, if there is one, the length. */
export function bodyOf(value: Buffer): Buffer {
  return value.subarray(isLong(value[0]) ? 1 + LONG_LENGTH_BYTES : 1)
}

export function longValue(letter: string, body: Buffer): Buffer {
  const head = Buffer.alloc(1 + LONG_LENGTH_BYTES)
  head.write(letter)
  head.writeUInt32BE(body.length, 1)
  return Buffer.concat([head, body])
}

export function tableBody(entries: readonly TableEntry[]): Buffer {
  return Buffer.concat(
    entries.flatMap(({ name, value }) => {
      const bytes = Buffer.from(name)
      if (bytes.length > 255) throw new RangeError('a name of more than 255 bytes')
      return [Buffer.from([bytes.length]), bytes, value]
    }),
  )
}

function endOfValue(bytes: Buffer, start: number): number {
  const tag = bytes.readUInt8(start)
  const length = isLong(tag)
    ? LONG_LENGTH_BYTES + bytes.readUInt32BE(start + 1)
    : FIXED[String.fromCharCode(tag)]
  if (length === undefined) throw new TypeError(`no type of AMQP: ${tag}`)
  const end = start + 1 + length
  if (end > bytes.length) throw new RangeError('a value that ends behind its table')
  return end
}

function isLong(tag: number | undefined): boolean {
  return tag !== undefined && LONG.includes(String.fromCharCode(tag))
}

/** Class, weight and body size come before the flags. */
const FLAGS_AT = 12
const HAS_CONTENT_TYPE = 1 << 15
const HAS_CONTENT_ENCODING = 1 << 14
const HAS_HEADERS = 1 << 13

/** The class below adds a private field to an object that exists. In a WeakMap, each message costs several times as much. */
class Existing {
  constructor(object: object) {
    // biome-ignore lint/correctness/noConstructorReturn: see above
    return object
  }
}

/** Properties of a message, with the header frame from which the client made them. */
class ReadProperties extends Existing {
  readonly #bytes: Buffer
  readonly #payloadAt: number

  constructor(properties: object, bytes: Buffer, payloadAt: number) {
    super(properties)
    this.#bytes = bytes
    this.#payloadAt = payloadAt
  }

  /** The header table of these properties as it was on the wire. Copies of properties have none. */
  static tableOf(properties: object): Buffer | undefined {
    return #bytes in properties ? tableIn(properties.#bytes, properties.#payloadAt) : undefined
  }
}

/** Remembers the headers as they are in the payload of a header frame, from which the client made these properties. */
export function keepTable(properties: AmqpProperties, bytes: Buffer, payloadAt = 0): void {
  new ReadProperties(properties, bytes, payloadAt)
}

function tableIn(bytes: Buffer, payloadAt: number): Buffer | undefined {
  const flags = bytes.readUInt16BE(payloadAt + FLAGS_AT)
  if ((flags & HAS_HEADERS) === 0) return undefined
  let at = payloadAt + FLAGS_AT + 2
  for (const flag of [HAS_CONTENT_TYPE, HAS_CONTENT_ENCODING]) if ((flags & flag) !== 0) at += 1 + bytes[at]!
  const length = bytes.readUInt32BE(at)
  return bytes.subarray(at + 4, at + 4 + length)
}

/** The headers of another program's message as they were on the wire; undefined if they were not kept. */
export function rawHeaders(properties: AmqpProperties): readonly TableEntry[] | undefined {
  try {
    const table = ReadProperties.tableOf(properties)
    return table && readTable(table)
  } catch {
    return undefined
  }
}

/** The headers with each value as it was on the wire, if that is known. */
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
