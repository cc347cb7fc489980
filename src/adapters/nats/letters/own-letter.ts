import { letterFromHeader } from '../../../adapter-kit/wire/letter-headers.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { decode } from '../broker/wire/event-codec.ts'
import { OWN } from '../broker/wire/headers.ts'
import type { EventMessage } from '../broker/wire/message.ts'
import { headerText } from '../connection/headers.ts'

/** Reads a letter of Lazaret from a dead-letter stream; undefined for a message of another program. */
export function readLetter(message: EventMessage): DeadLetter | undefined {
  const text = headerText(message.headers, OWN.letter)
  if (text === undefined) return undefined
  return letterFromHeader(text, (channel, origin) => decode(message, channel, origin))
}
