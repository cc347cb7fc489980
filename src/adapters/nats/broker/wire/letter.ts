import { keepFirstAndLatest } from '../../../../core/dead-letter/caps.ts'
import { letterToJson } from '../../../../core/dead-letter/json.ts'
import type { DeadLetter, Origin } from '../../../../core/dead-letter/letter.ts'
import { timeText } from '../../../../core/event/attributes.ts'
import { escaped } from '../../../../core/event/cloudevents-binary.ts'
import type { LazaretEvent } from '../../../../core/event/event.ts'
import type { Undecodable } from '../../../../ports/broker.ts'
import { type HeaderList, withoutHeaders } from '../../connection/headers.ts'
import { asciiJson, isOfServer, OWN } from './headers.ts'

const SHORT_ERROR = 1_000
const MAX_LETTER_BYTES = 100_000

/** The headers of a letter in the dead-letter stream: those of the original message, and the reason. */
export function letterHeaders(
  headers: HeaderList,
  content: LazaretEvent | Undecodable,
  { stream, subject, offset, timestamp }: Origin,
  letter: DeadLetter,
): HeaderList {
  const { cycle } = letter
  const { failure } = cycle
  const more: (readonly [string, string])[] = [
    [OWN.reason, cycle.reason],
    [OWN.category, cycle.category],
    [OWN.attempts, String(cycle.attemptCount)],
    [OWN.firstFailedAt, timeText(cycle.firstFailedAt)],
    [OWN.lastFailedAt, timeText(cycle.lastFailedAt)],
    [OWN.originalStream, String(stream)],
    [OWN.originalSubject, String(subject)],
    [OWN.originalSequence, String(offset)],
    [OWN.originalTimestamp, String(timestamp)],
  ]
  if (failure !== undefined) {
    more.push([
      OWN.error,
      escaped(`${failure.name}: ${failure.message}`.slice(0, SHORT_ERROR).toWellFormed()),
    ])
    more.push([OWN.fingerprint, failure.fingerprint.id])
  }
  more.push([OWN.letter, fitted(letter, 'raw' in content)])
  const kept = withoutHeaders(headers, name => name === OWN.log || name === OWN.held || isOfServer(name))
  return [...kept, ...more]
}

/** The letter without its event, which is the message itself. For an undecodable one it contains the event's placeholder. */
function fitted(letter: DeadLetter, isUndecodable: boolean): string {
  for (let kept = letter.cycle.attempts.length; ; kept >>= 1) {
    const attempts = kept === 0 ? [] : keepFirstAndLatest(letter.cycle.attempts, kept)
    const { event, ...rest } = letterToJson({ ...letter, cycle: { ...letter.cycle, attempts } })
    const { payload: _, payloadBase64: __, ...standIn } = event
    const text = asciiJson(isUndecodable ? { ...rest, standIn } : rest)
    // The attempts in the middle are left out.
    if (kept === 0 || text.length < MAX_LETTER_BYTES) return text
  }
}
