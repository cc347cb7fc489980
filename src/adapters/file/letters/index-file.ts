import { endianness } from 'node:os'
import { crc32 } from 'node:zlib'
import { Columns, ROW_BYTES } from './columns.ts'
import type { Kind, Kinds } from './kinds.ts'
import { DELETED, Sheet } from './sheet.ts'

const MAGIC = 'lazaret-index-1\n'
const LENGTH_BYTES = 4
const CRC_BYTES = 4
/** The rows begin at a multiple of this, so that they can be used where they lie. */
const ALIGNMENT = 8

interface Header {
  /** Of the segment that it tells of: an index of another length is of no use. */
  readonly bytes: number
  readonly rows: number
  readonly order: string
  readonly kinds: readonly Kind[]
  readonly oddIds: readonly (readonly [row: number, id: string])[]
  readonly expiries: readonly (readonly [row: number, at: number])[]
}

/**
 * A sheet as it is kept beside its segment, so that opening a folder reads a tenth of its bytes and parses none of its
 * letters. It holds nothing that the segment does not: lost or broken, it is made again.
 */
export function writeIndex(sheet: Sheet, kinds: Kinds, segmentBytes: number): Buffer {
  const { rows, oddIds, expiries } = sheet
  const rowBytes = sheet.columns.toBytes(rows)
  const used = withOwnNumbers(new Columns(rows, rowBytes.buffer as ArrayBuffer, rowBytes.byteOffset), rows)
  const header: Header = {
    bytes: segmentBytes,
    rows,
    order: endianness(),
    kinds: used.map(number => kinds.all[number]!),
    oddIds: [...oddIds],
    expiries: [...expiries],
  }
  const text = Buffer.from(JSON.stringify(header))
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt32LE(text.length)
  const padding = Buffer.alloc(
    aligned(MAGIC.length + LENGTH_BYTES + text.length) - MAGIC.length - LENGTH_BYTES - text.length,
  )
  const whole = Buffer.concat([Buffer.from(MAGIC), length, text, padding, rowBytes])
  const crc = Buffer.alloc(CRC_BYTES)
  crc.writeUInt32LE(crc32(whole))
  return Buffer.concat([whole, crc])
}

/** Undefined when it is broken, of another machine or version, or not about a segment of that length. */
export function readIndex(bytes: Buffer, kinds: Kinds, segmentBytes: number): Sheet | undefined {
  const whole = bytes.subarray(0, -CRC_BYTES)
  const headerAt = MAGIC.length + LENGTH_BYTES
  if (whole.length < headerAt || whole.toString('latin1', 0, MAGIC.length) !== MAGIC) return undefined
  if (bytes.readUInt32LE(whole.length) !== crc32(whole)) return undefined
  const headerEnd = headerAt + whole.readUInt32LE(MAGIC.length)
  const header: Header = JSON.parse(whole.toString('utf8', headerAt, headerEnd))
  const { rows } = header
  const rowsAt = aligned(headerEnd)
  const fits = header.bytes === segmentBytes && header.order === endianness()
  if (!fits || whole.length !== rowsAt + rows * ROW_BYTES) return undefined
  const columns = new Columns(rows, bytes.buffer as ArrayBuffer, bytes.byteOffset + rowsAt)
  const numbers = header.kinds.map(kind => kinds.numberOf(kind))
  for (let row = 0; row < rows; row++) columns.kind[row] = numbers[columns.kind[row]!] ?? 0
  return new Sheet(columns, rows, new Map(header.oddIds), new Map(header.expiries))
}

/** Numbers the kinds as they come, and answers which they are. */
function withOwnNumbers({ kind, state }: Columns, rows: number): number[] {
  const own = new Map<number, number>()
  for (let row = 0; row < rows; row++) {
    if (state[row] === DELETED) continue
    const number = kind[row]!
    if (!own.has(number)) own.set(number, own.size)
    kind[row] = own.get(number)!
  }
  return [...own.keys()]
}

function aligned(bytes: number): number {
  return Math.ceil(bytes / ALIGNMENT) * ALIGNMENT
}
