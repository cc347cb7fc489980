import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { isLetterState } from '../../../core/dead-letter/state.ts'
import { LazaretError } from '../../../core/failure/errors.ts'
import type { LetterCodec } from '../../../ports/codec.ts'
import type { JournalRecord } from '../journal/line.ts'
import { DELETE, PUT } from '../journal/line-index.ts'
import { UnreadableError } from '../journal/segment-set.ts'

/** A letter's record. Text that is JSON already stands there as it is, so that people can read it; other text is quoted. */
export function putRecord(letter: DeadLetter, codec: LetterCodec): JournalRecord {
  const text = codec.encode(letter)
  const isJson = text.startsWith('{') && !text.includes('\n')
  return { kind: PUT, text: isJson ? text : JSON.stringify(text) }
}

export function deleteRecord(ids: readonly string[]): JournalRecord {
  return { kind: DELETE, text: JSON.stringify(ids) }
}

/** A missing key is the reader's trouble and not the record's: it is told as it is. */
export function letterOf({ text }: JournalRecord, codec: LetterCodec): DeadLetter {
  try {
    return codec.decode(text.startsWith('"') ? JSON.parse(text) : text)
  } catch (error) {
    if (error instanceof LazaretError && error.code === 'LAZARET_SEAL_UNOPENED') throw error
    throw new UnreadableError('no letter', { cause: error })
  }
}

/**
 * The letter as far as it can be seen without a key: a codec hides texts, which the index does not look at. Only a text
 * that is no letter at all to the eye is decoded.
 */
export function glanceAt(record: JournalRecord, codec: LetterCodec): DeadLetter {
  const seen: unknown = JSON.parse(record.text)
  return looksLikeLetter(seen) ? seen : letterOf(record, codec)
}

function looksLikeLetter(value: unknown): value is DeadLetter {
  const { v, id, channel, handler, event, state, cycle, endedCycles, updatedAt } = (value ??
    {}) as Partial<DeadLetter>
  return (
    v === 1 &&
    [id, channel, handler, event?.type, cycle?.reason, cycle?.category].every(isText) &&
    [updatedAt, cycle?.firstFailedAt, cycle?.lastFailedAt].every(Number.isFinite) &&
    isLetterState(state) &&
    Array.isArray(endedCycles)
  )
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}
