import { describeCycle, letterToHeader } from '../../../../adapter-kit/wire/letter-headers.ts'
import { capText } from '../../../../core/dead-letter/caps.ts'
import type { DeadLetter, Origin } from '../../../../core/dead-letter/letter.ts'
import { escaped } from '../../../../core/event/cloudevents-binary.ts'
import type { LazaretEvent } from '../../../../core/event/event.ts'
import type { Undecodable } from '../../../../ports/broker.ts'
import type { HeaderList } from '../../connection/headers.ts'
import { inAscii, keptHeaders, OWN } from './headers.ts'

const MAX_LETTER_BYTES = 100_000
const MAX_SMALL_TEXT_BYTES = 200

/** The smallest letter is for an event that leaves hardly any room: without attempts, and with the beginning of its error. */
export type LetterSize = 'whole' | 'smallest'

/** The headers of a letter in the dead-letter stream: those of the original message, and the reason. */
export function letterHeaders(
  headers: HeaderList,
  content: LazaretEvent | Undecodable,
  { stream, subject, offset, timestamp }: Origin,
  given: DeadLetter,
  size: LetterSize,
): HeaderList {
  const letter = size === 'whole' ? given : withShortError(given)
  const described = Object.entries(describeCycle(letter.cycle))
  return [
    ...keptHeaders(headers),
    ...described.map(([name, text]) => [name, escaped(String(text).toWellFormed())] as const),
    [OWN.originalStream, String(stream)],
    [OWN.originalSubject, String(subject)],
    [OWN.originalSequence, String(offset)],
    [OWN.originalTimestamp, String(timestamp)],
    [OWN.letter, inAscii(letterToHeader(letter, content, size === 'whole' ? MAX_LETTER_BYTES : 0))],
  ]
}

function withShortError(letter: DeadLetter): DeadLetter {
  const { failure } = letter.cycle
  if (failure === undefined) return letter
  const { stack: _, ...rest } = failure
  const message = capText(failure.message, MAX_SMALL_TEXT_BYTES)
  return { ...letter, cycle: { ...letter.cycle, failure: { ...rest, message } } }
}
