import { describeCycle, letterToHeader } from '../../../../adapter-kit/wire/letter-headers.ts'
import type { DeadLetter, Origin } from '../../../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../../../core/event/event.ts'
import type { Undecodable } from '../../../../ports/broker.ts'
import type { EventRecord } from './event-codec.ts'
import { header, OWN, withoutHeaders } from './headers.ts'

const MAX_LETTER_BYTES = 200_000

/** The record of a letter for the dead-letter topic: the original message, with the reason in its headers. */
export function letterRecord(
  { key, value, headers }: EventRecord,
  content: LazaretEvent | Undecodable,
  { topic, partition, offset, timestamp }: Origin,
  letter: DeadLetter,
): EventRecord {
  const described = Object.entries(describeCycle(letter.cycle))
  return {
    key,
    value,
    headers: [
      ...withoutHeaders(headers, OWN.log),
      ...described.map(([name, text]) => header(name, String(text))),
      header(OWN.originalTopic, topic ?? ''),
      header(OWN.originalPartition, String(partition)),
      header(OWN.originalOffset, String(offset)),
      header(OWN.originalTimestamp, String(timestamp)),
      header(OWN.letter, letterToHeader(letter, content, MAX_LETTER_BYTES)),
    ],
  }
}
