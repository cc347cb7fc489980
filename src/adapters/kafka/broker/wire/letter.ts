import { keepFirstAndLatest } from '../../../../core/dead-letter/caps.ts'
import { letterToJson } from '../../../../core/dead-letter/json.ts'
import type { DeadLetter, Origin } from '../../../../core/dead-letter/letter.ts'
import { timeText } from '../../../../core/event/attributes.ts'
import type { LazaretEvent } from '../../../../core/event/event.ts'
import type { Undecodable } from '../../../../ports/broker.ts'
import type { EventRecord } from './event-codec.ts'
import { header, OWN, withoutHeaders } from './headers.ts'

const SHORT_ERROR = 1_000
const MAX_LETTER_BYTES = 200_000

/** The record of a letter for the dead-letter topic: the original message, with the reason in its headers. */
export function letterRecord(
  { key, value, headers }: EventRecord,
  content: LazaretEvent | Undecodable,
  { topic, partition, offset, timestamp }: Origin,
  letter: DeadLetter,
): EventRecord {
  const { cycle } = letter
  const { failure } = cycle
  const more = [
    header(OWN.reason, cycle.reason),
    header(OWN.category, cycle.category),
    header(OWN.attempts, String(cycle.attemptCount)),
    header(OWN.firstFailedAt, timeText(cycle.firstFailedAt)),
    header(OWN.lastFailedAt, timeText(cycle.lastFailedAt)),
    header(OWN.originalTopic, topic ?? ''),
    header(OWN.originalPartition, String(partition)),
    header(OWN.originalOffset, String(offset)),
    header(OWN.originalTimestamp, String(timestamp)),
  ]
  if (failure !== undefined) {
    more.push(header(OWN.error, `${failure.name}: ${failure.message}`.slice(0, SHORT_ERROR)))
    more.push(header(OWN.fingerprint, failure.fingerprint.id))
  }
  more.push(header(OWN.letter, fitted(letter, 'raw' in content)))
  return { key, value, headers: [...withoutHeaders(headers, OWN.log), ...more] }
}

/** The letter without its event, which is the record itself. For an undecodable one it contains the event's placeholder. */
function fitted(letter: DeadLetter, isUndecodable: boolean): string {
  for (let kept = letter.cycle.attempts.length; ; kept >>= 1) {
    const attempts = kept === 0 ? [] : keepFirstAndLatest(letter.cycle.attempts, kept)
    const { event, ...rest } = letterToJson({ ...letter, cycle: { ...letter.cycle, attempts } })
    const { payload: _, payloadBase64: __, ...standIn } = event
    const text = JSON.stringify(isUndecodable ? { ...rest, standIn } : rest)
    // The attempts in the middle are left out.
    if (kept === 0 || Buffer.byteLength(text) < MAX_LETTER_BYTES) return text
  }
}
