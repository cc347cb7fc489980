// What a text column of Postgres can hold, and how times cross.
import { MAX_TIME_MS } from '../../../core/event/uuid.ts'

/** Before this no letter can have failed; Postgres has no time for every number. */
const MIN_TIME_MS = -62_135_596_800_000

/** As a text column can hold it: without NUL, and without halves of surrogate pairs. */
export function holdable(text: string): string {
  const wellFormed = text.isWellFormed() ? text : text.toWellFormed()
  return wellFormed.includes('\0') ? wellFormed.replaceAll('\0', '\ufffd') : wellFormed
}

export function holdableOrNull(text: string | null | undefined): string | null {
  return text === null || text === undefined ? null : holdable(text)
}

/** Epoch milliseconds as a parameter of `to_timestamp(… / 1000)`; times that Postgres does not have become its nearest. */
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
