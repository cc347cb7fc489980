import { letterFromHeader } from '../../../adapter-kit/wire/letter-headers.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { decode, type EventRecord } from '../broker/wire/event-codec.ts'
import { headerText, OWN } from '../broker/wire/headers.ts'

/** Reads a letter of Lazaret from a dead-letter topic; undefined for a record of another program. */
export function readLetter(record: EventRecord): DeadLetter | undefined {
  const text = headerText(record.headers, OWN.letter)
  if (text === undefined) return undefined
  return letterFromHeader(text, (channel, origin) => decode(record, channel, origin))
}
