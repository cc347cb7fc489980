import { describeCycle, letterToHeader } from '../../../../adapter-kit/wire/letter-headers.ts'
import type { DeadLetter, Origin } from '../../../../core/dead-letter/letter.ts'
import { escaped } from '../../../../core/event/cloudevents-binary.ts'
import type { LazaretEvent } from '../../../../core/event/event.ts'
import type { Undecodable } from '../../../../ports/broker.ts'
import { type HeaderList, withoutHeaders } from '../../connection/headers.ts'
import { inAscii, isOfServer, OWN } from './headers.ts'

const MAX_LETTER_BYTES = 100_000

/** The headers of a letter in the dead-letter stream: those of the original message, and the reason. */
export function letterHeaders(
  headers: HeaderList,
  content: LazaretEvent | Undecodable,
  { stream, subject, offset, timestamp }: Origin,
  letter: DeadLetter,
): HeaderList {
  const described = Object.entries(describeCycle(letter.cycle))
  const kept = withoutHeaders(headers, name => name === OWN.log || name === OWN.held || isOfServer(name))
  return [
    ...kept,
    ...described.map(([name, text]) => [name, escaped(String(text).toWellFormed())] as const),
    [OWN.originalStream, String(stream)],
    [OWN.originalSubject, String(subject)],
    [OWN.originalSequence, String(offset)],
    [OWN.originalTimestamp, String(timestamp)],
    [OWN.letter, inAscii(letterToHeader(letter, content, MAX_LETTER_BYTES))],
  ]
}
