import { keepFirstAndLatest } from '../../core/dead-letter/caps.ts'
import type { AttemptRecord } from '../../core/dead-letter/letter.ts'
import { isPlainObject } from '../../core/event/plain.ts'
import { decodeAttempts, isAttempt } from '../delivery/attempt-history.ts'
import { type AttemptLog, EMPTY_LOG } from '../delivery/tracked-delivery.ts'

/** What a message carries that was published again, on a broker that cannot change a message in place. */
type CarriedLog = Readonly<Record<string, unknown>>

/** A text that is not such a log counts as an empty one. */
export function parseLog(text: string): CarriedLog {
  try {
    const stored: unknown = JSON.parse(text)
    return isPlainObject(stored) ? stored : {}
  } catch {
    return {}
  }
}

/** A whole number above 0; 0 for everything else. */
export function countOf(value: unknown): number {
  return Number.isSafeInteger(value) && (value as number) > 0 ? (value as number) : 0
}

export function attemptsOf(stored: CarriedLog): AttemptLog {
  const started = countOf(stored['started'])
  if (started === 0) return EMPTY_LOG
  const ended = Math.min(started, countOf(stored['ended']))
  const history = stored['history']
  const attempts = ended > 0 && Array.isArray(history) ? history.filter(isAttempt) : []
  return { started, ended, history: decodeAttempts(attempts, undefined) }
}

/** Counts are never given up; of the attempts themselves as many are kept as there is room for. */
export function logText(
  carried: object,
  history: readonly AttemptRecord[],
  maxBytes: number,
  toText: (value: object) => string = JSON.stringify,
): string {
  if (history.length === 0) return toText(carried)
  const text = toText({ ...carried, history })
  if (Buffer.byteLength(text) < maxBytes) return text
  const fewer = history.length === 1 ? [] : keepFirstAndLatest(history, Math.max(1, history.length >> 1))
  return logText(carried, fewer, maxBytes, toText)
}
