// Attempts that a broker keeps of an event until it is handled or a letter: their errors quote the payload.
import type { AttemptFailure, AttemptRecord } from '../../core/dead-letter/letter.ts'
import type { TextCodec } from '../../ports/codec.ts'

/** Attempts as they are written: with the texts of their errors sealed, where events are. */
export function encodeAttempts(
  attempts: readonly AttemptRecord[],
  texts: TextCodec | undefined,
): readonly AttemptRecord[] {
  return texts === undefined ? attempts : attempts.map(attempt => withTexts(attempt, texts.encode))
}

/** Attempts as they were. An attempt has all of its fields, unset ones as undefined, which JSON leaves out. */
export function decodeAttempts(
  stored: readonly AttemptRecord[],
  texts: TextCodec | undefined,
): readonly AttemptRecord[] {
  return stored.map(({ number, startedAt, endedAt, failure, delayMs }) => {
    const attempt = {
      number,
      startedAt,
      endedAt,
      failure: failure && { ...failure, code: failure.code, stack: failure.stack },
      delayMs,
    }
    return texts === undefined ? attempt : withTexts(attempt, texts.decode)
  })
}

function withTexts(attempt: AttemptRecord, change: (text: string) => string): AttemptRecord {
  const { failure } = attempt
  if (failure === undefined) return attempt
  const { message, stack } = failure
  const changed: AttemptFailure = {
    ...failure,
    message: change(message),
    stack: stack === undefined ? undefined : change(stack),
  }
  return { ...attempt, failure: changed }
}

/** Whether a stored value has what an attempt needs: a message can come from anyone. */
export function isAttempt(value: unknown): value is AttemptRecord {
  const { number, startedAt, failure } = (value ?? {}) as Partial<AttemptRecord>
  return (
    typeof number === 'number' &&
    typeof startedAt === 'number' &&
    (failure === undefined || typeof failure?.fingerprint === 'string')
  )
}
