import { firstFailedAt } from '../../../adapter-kit/query/letter-order.ts'
import { groupingOf } from '../../../core/dead-letter/group.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { isLetterState, type LetterState } from '../../../core/dead-letter/state.ts'
import { LazaretError } from '../../../core/failure/errors.ts'
import type { LetterCodec } from '../../../ports/codec.ts'
import type { JournalRecord } from '../journal/line.ts'
import { DELETE, type LineIndex, PUT } from '../journal/line-index.ts'
import type { Facts, Put, SegmentRows } from '../journal/segment-rows.ts'
import { jsonOf, UnreadableError } from '../journal/segment-set.ts'

/** The values that filters compare. A million letters have a few hundred different kinds. */
export interface Kind {
  readonly channel: string
  readonly handler: string
  readonly type: string
  readonly reason: string
  readonly category: string
  /** The id of the group, also for letters without a failure. */
  readonly group: string
  readonly state: LetterState
  readonly attempts: number
  readonly isReplayed: boolean
  /** Its policy says 'never', so that it stays until a person or a replay decides. */
  readonly neverExpires: boolean
}

export type LetterFacts = Facts<Kind>
export type LetterIndex = LineIndex<Kind>
export type LetterRows = SegmentRows<Kind>

/** The facts of a letter that filters, order, counts and cleanup need. */
export function putOf(letter: DeadLetter): Put<Kind> {
  const { id, channel, handler, event, state, cycle, updatedAt, expiresAt, replays } = letter
  return {
    id,
    kind: {
      channel,
      handler,
      type: event.type,
      reason: cycle.reason,
      category: cycle.category,
      group: cycle.failure?.fingerprint.id ?? groupingOf(letter).id,
      state,
      attempts: cycle.attemptCount,
      isReplayed: replays > 0,
      neverExpires: letter.expiresAfterMs === 'never',
    },
    firstFailedAt: firstFailedAt(letter),
    lastFailedAt: cycle.lastFailedAt,
    updatedAt,
    expiresAt: expiresAt ?? Number.POSITIVE_INFINITY,
  }
}

/** The record of a letter. JSON text is written as it is, so that people can read it; other text is quoted. */
export function putRecord(letter: DeadLetter, codec: LetterCodec): JournalRecord {
  const text = codec.encode(letter)
  const isJson = text.startsWith('{') && !text.includes('\n')
  return { kind: PUT, text: isJson ? text : JSON.stringify(text) }
}

export function deleteRecord(ids: readonly string[]): JournalRecord {
  return { kind: DELETE, text: JSON.stringify(ids) }
}

/** A missing key is a fault of the reader and not of the record, so the error is passed on. */
export function letterOf({ text }: JournalRecord, codec: LetterCodec): DeadLetter {
  try {
    return codec.decode(text.startsWith('"') ? JSON.parse(text) : text)
  } catch (error) {
    if (error instanceof LazaretError && error.code === 'LAZARET_SEAL_UNOPENED') throw error
    throw new UnreadableError('no letter', { cause: error })
  }
}

/**
 * Reads the letter as far as possible without a key: a codec seals texts, and the index needs none of them. Only a text
 * that does not look like a letter is decoded.
 */
export function peekLetter(record: JournalRecord, codec: LetterCodec): DeadLetter {
  const seen = jsonOf(record)
  return looksLikeLetter(seen) ? seen : letterOf(record, codec)
}

function looksLikeLetter(value: unknown): value is DeadLetter {
  const { v, id, channel, handler, event, state, cycle, endedCycles, updatedAt } = (value ??
    {}) as Partial<DeadLetter>
  return (
    v === 1 &&
    [id, channel, handler, event?.type, cycle?.reason, cycle?.category].every(isText) &&
    [updatedAt, cycle?.firstFailedAt, cycle?.lastFailedAt, cycle?.attemptCount].every(Number.isFinite) &&
    isLetterState(state) &&
    Array.isArray(endedCycles)
  )
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}
