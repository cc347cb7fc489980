import {
  describeCycle,
  letterFromHeader,
  letterToHeader,
} from '../../../../adapter-kit/wire/letter-headers.ts'
import type { DeadLetter } from '../../../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../../../core/event/event.ts'
import type { Undecodable } from '../../../../ports/broker.ts'
import type { AmqpMessage, AmqpProperties } from '../../connection/amqp.ts'
import { decode } from './event-codec.ts'
import { headerBytes, MAX_HEADER_BYTES, OWN, textOf } from './headers.ts'

/** The message of a letter for the dead-letter queue: the original message, with the reason in its headers. */
export function letterProperties(
  properties: AmqpProperties,
  content: LazaretEvent | Undecodable,
  letter: DeadLetter,
): AmqpProperties {
  const headers: Record<string, unknown> = { ...properties.headers, ...describeCycle(letter.cycle) }
  headers[OWN.letter] = letterToHeader(letter, content, MAX_HEADER_BYTES - headerBytes(headers))
  return { ...properties, headers }
}

/** Reads a letter of Lazaret from a dead-letter queue; undefined for a message of another program. */
export function readLetter(message: AmqpMessage): DeadLetter | undefined {
  const text = textOf(message.properties.headers?.[OWN.letter])
  if (text === undefined) return undefined
  return letterFromHeader(text, (channel, origin) => decode(message, channel, origin))
}
