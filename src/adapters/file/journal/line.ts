import { crc32 } from 'node:zlib'
import type { Files } from './files.ts'

/** The content of one line: the kind of the record, and the record as JSON text. */
export interface JournalRecord {
  /** A word of letters. */
  readonly kind: string
  readonly text: string
}

const START = '{"crc":"'
const CRC_DIGITS = 8
/** The checksum comes first, at a fixed position, and covers the rest of the line. */
const PREFIX_BYTES = START.length + CRC_DIGITS + 2
const NEWLINE = 10
const RETURN = 13
/** The quotes and the colon of the kind, the closing brace and the newline. */
const OVERHEAD_BYTES = PREFIX_BYTES + 5
/** The most UTF-8 bytes of one UTF-16 unit. */
const MAX_BYTES_PER_UNIT = 3

/** The upper bound of the length of a line. */
export function mostLineBytes({ kind, text }: JournalRecord): number {
  return OVERHEAD_BYTES + kind.length + text.length * MAX_BYTES_PER_UNIT
}

/**
 * A line is a JSON object of two fields, `{"crc":"1a2b3c4d","put":…}`, so that any JSON tool reads a journal. JSON
 * writes no newline inside a text, so the next newline is the end of the line whatever happened to the bytes between:
 * a line that is torn or has a flipped bit takes no other with it.
 *
 * Writes the line into the buffer and answers where it ends, its newline included.
 */
export function writeLine(buffer: Buffer, at: number, { kind, text }: JournalRecord): number {
  const bodyAt = at + PREFIX_BYTES
  let end = bodyAt + buffer.write(`"${kind}":`, bodyAt, 'latin1')
  end += buffer.write(text, end)
  buffer[end++] = BRACE
  const crc = crc32(buffer.subarray(bodyAt, end)).toString(16).padStart(CRC_DIGITS, '0')
  buffer.write(`${START}${crc}",`, at, 'latin1')
  buffer[end] = NEWLINE
  return end + 1
}

const BRACE = '}'.charCodeAt(0)
const SHAPE = /^\{"crc":"([0-9a-f]{8})",$/
const BODY = /^"([a-z]+)":/

/**
 * Reads a line without its newline. Returns undefined if the line differs from what was written. A carriage return at its
 * end is not a difference: some editors add one to every line.
 */
export function readLine(line: Buffer): JournalRecord | undefined {
  return readExact(line) ?? (line.at(-1) === RETURN ? readExact(line.subarray(0, -1)) : undefined)
}

function readExact(line: Buffer): JournalRecord | undefined {
  const [, crc] = SHAPE.exec(line.toString('latin1', 0, PREFIX_BYTES)) ?? []
  if (crc === undefined || Number.parseInt(crc, 16) !== crc32(line.subarray(PREFIX_BYTES))) return undefined
  const body = line.toString('utf8', PREFIX_BYTES)
  const [opening, kind] = BODY.exec(body) ?? []
  if (opening === undefined || kind === undefined) return undefined
  return { kind, text: body.slice(opening.length, -1) }
}

const FIRST_BYTES = 65_536
/** A buffer that grew beyond this size for one large batch is released. */
const MAX_KEPT_BYTES = 4_194_304

/** The offset of a line, and its length without the newline. */
export interface Span {
  readonly offset: number
  readonly length: number
}

/** Writes the lines of a batch one after the other into a buffer that the next batch reuses. */
export class LineWriter {
  #buffer = Buffer.allocUnsafe(FIRST_BYTES)
  #end = 0

  /** The lines so far. The bytes are valid until the next `clear`. */
  get bytes(): Buffer {
    return this.#buffer.subarray(0, this.#end)
  }

  get length(): number {
    return this.#end
  }

  add(record: JournalRecord): Span {
    this.#reserve(mostLineBytes(record))
    const offset = this.#end
    this.#end = writeLine(this.#buffer, offset, record)
    return { offset, length: this.#end - offset - 1 }
  }

  clear(): void {
    this.#end = 0
    if (this.#buffer.length > MAX_KEPT_BYTES) this.#buffer = Buffer.allocUnsafe(FIRST_BYTES)
  }

  #reserve(bytes: number): void {
    const needed = this.#end + bytes
    if (needed <= this.#buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(needed, this.#buffer.length * 2))
    larger.set(this.bytes)
    this.#buffer = larger
  }
}

/** The size of one read. The chunk is processed without a pause, so it is small enough not to block the event loop. */
const CHUNK_BYTES = 65_536

/**
 * Shows every whole line from there on, without its newline, and where it begins. The bytes are good during the call
 * only. Answers where the last whole line ends, and how many bytes there are behind it.
 */
export async function readLines(
  files: Files,
  path: string,
  from: number,
  visit: (line: Buffer, offset: number) => void,
): Promise<{ readonly end: number; readonly tornBytes: number }> {
  const fd = await files.open(path, 'r')
  try {
    let buffer: Buffer = Buffer.allocUnsafe(CHUNK_BYTES)
    let kept = 0
    let end = from
    for (;;) {
      const read = await files.read(fd, buffer.subarray(kept), end + kept)
      if (read === 0) return { end, tornBytes: kept }
      const filled = buffer.subarray(0, kept + read)
      const shown = showLines(filled, end, visit)
      end += shown
      kept = filled.length - shown
      const next = roomFor(kept, buffer)
      filled.copy(next, 0, shown)
      buffer = next
    }
  } finally {
    await files.close(fd)
  }
}

/** A line that is longer than the buffer needs a larger one. After it the usual size is enough again. */
function roomFor(kept: number, buffer: Buffer): Buffer {
  if (kept === buffer.length) return Buffer.allocUnsafe(buffer.length * 2)
  return kept < CHUNK_BYTES && buffer.length > CHUNK_BYTES ? Buffer.allocUnsafe(CHUNK_BYTES) : buffer
}

function showLines(filled: Buffer, offset: number, visit: (line: Buffer, offset: number) => void): number {
  let start = 0
  for (let newline = filled.indexOf(NEWLINE); newline !== -1; newline = filled.indexOf(NEWLINE, start)) {
    visit(filled.subarray(start, newline), offset + start)
    start = newline + 1
  }
  return start
}
