// A field table of AMQP 0-9-1 as RabbitMQ writes it: names, and values that begin with a letter for their type.

const TAG = {
  S: 0x53,
  x: 0x78,
  F: 0x46,
  A: 0x41,
} as const
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

/** A value as it was on the wire, its letter first. It is written again as it is; `decoded` is what the client made of it. */
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
  /** Its letter first. */
  readonly value: Buffer
}

/** The entries of a table, given without its length. Throws for what is none. */
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

/** What follows the letter and, where there is one, the length. */
export function bodyOf(value: Buffer): Buffer {
  return value.subarray(isLong(value[0]) ? 1 + LONG_LENGTH_BYTES : 1)
}

export function longValue(letter: keyof typeof TAG, body: Buffer): Buffer {
  const head = Buffer.alloc(1 + LONG_LENGTH_BYTES)
  head[0] = TAG[letter]
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
  return tag === TAG.S || tag === TAG.x || tag === TAG.F || tag === TAG.A
}
