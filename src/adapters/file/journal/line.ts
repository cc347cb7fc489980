import { crc32 } from 'node:zlib'

/** What one line says: what kind of record it is, and the record as JSON text. */
export interface JournalRecord {
  /** A word of letters. */
  readonly kind: string
  readonly text: string
}

const START = '{"crc":"'
const CRC_DIGITS = 8
/** The checksum stands first, at a fixed place, and covers everything behind it. */
const PREFIX_BYTES = START.length + CRC_DIGITS + 2
export const NEWLINE = 10
/** Quotes and colon round the kind, the closing brace, the newline. */
const AROUND_BYTES = PREFIX_BYTES + 5
/** Of UTF-8 for one unit of a text, at most. */
const MOST_BYTES_PER_UNIT = 3

/** A line is never longer than this. */
export function mostLineBytes({ kind, text }: JournalRecord): number {
  return AROUND_BYTES + kind.length + text.length * MOST_BYTES_PER_UNIT
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

/** The record of a line without its newline; undefined when the line is not what was written. */
export function readLine(line: Buffer): JournalRecord | undefined {
  const [, crc] = SHAPE.exec(line.toString('latin1', 0, PREFIX_BYTES)) ?? []
  if (crc === undefined || Number.parseInt(crc, 16) !== crc32(line.subarray(PREFIX_BYTES))) return undefined
  const body = line.toString('utf8', PREFIX_BYTES)
  const [opening, kind] = BODY.exec(body) ?? []
  if (opening === undefined || kind === undefined) return undefined
  return { kind, text: body.slice(opening.length, -1) }
}
