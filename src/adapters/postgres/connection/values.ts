// How values cross to the server: texts as a text column can hold them, times as epoch milliseconds, and the columns of
// many rows as one text each, which the server takes apart in a fraction of the time that JSON takes.
import { MAX_TIME_MS } from '../../../core/event/uuid.ts'

/** The earliest time that is written. Postgres has no time for every number. */
const MIN_TIME_MS = -62_135_596_800_000

/** The text as a text column can hold it: without NUL, and without halves of surrogate pairs. */
export function storableText(text: string): string {
  const wellFormed = text.isWellFormed() ? text : text.toWellFormed()
  return wellFormed.includes('\0') ? wellFormed.replaceAll('\0', '\ufffd') : wellFormed
}

export function storableTextOrNull(text: string | null | undefined): string | null {
  return text === null || text === undefined ? null : storableText(text)
}

/** Epoch milliseconds as a parameter of `asTime`; times that Postgres does not have become its nearest. */
export function timeParameter(ms: number): number {
  return Math.min(MAX_TIME_MS, Math.max(MIN_TIME_MS, ms))
}

/** The parameter as a time. */
export function asTime(parameter: number): string {
  return `to_timestamp($${parameter}::float8 / 1000)`
}

/** The column as epoch milliseconds. */
export function asMs(column: string): string {
  return `(extract(epoch from ${column}) * 1000)::float8`
}

/** The time of the server in whole milliseconds, as ports tell times. */
export const NOW_MS = `date_trunc('milliseconds', clock_timestamp())`

/** The parameter, a number of milliseconds, as an interval. */
export function asInterval(parameter: number): string {
  return `$${parameter}::float8 * interval '1 ms'`
}

/** Ends every value of a packed column. JSON text, numbers and UUIDs never contain it. */
const VALUE_END = '\u001e'
const NULL_VALUE = '\u001d'

/** Whether a packed column can hold the text as it is. */
export function isPackable(text: string | undefined): boolean {
  return text === undefined || !(text.includes(VALUE_END) || text.includes(NULL_VALUE))
}

/** The text as a packed column can hold it, for texts that only people read. */
export function packableText(text: string): string {
  if (isPackable(text)) return text
  return text.replaceAll(VALUE_END, '\ufffd').replaceAll(NULL_VALUE, '\ufffd')
}

/** One column of many rows as one text. Null when every value is null. */
export function packColumn<T>(
  rows: readonly T[],
  textOf: (row: T) => string | null | undefined,
): string | null {
  let text = ''
  let nulls = 0
  for (const row of rows) {
    const value = textOf(row) ?? null
    if (value === null) nulls++
    text += (value ?? NULL_VALUE) + VALUE_END
  }
  return nulls === rows.length ? null : text
}

/** The parameter, a packed column, as an array. Its last element is an empty text that belongs to no row. */
export function unpackColumn(parameter: number): string {
  return `string_to_array($${parameter}::text, chr(30), chr(29))`
}

/** Numbers as an array of Postgres. */
export function arrayOf(values: readonly (number | null)[]): string {
  return `{${values.map(value => value ?? 'null').join()}}`
}
