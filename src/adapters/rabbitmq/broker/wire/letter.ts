import { keepFirstAndLatest } from '../../../../core/dead-letter/caps.ts'
import { letterFromJson, letterToJson } from '../../../../core/dead-letter/json.ts'
import type { DeadLetter } from '../../../../core/dead-letter/letter.ts'
import { encodeBase64 } from '../../../../core/event/base64.ts'
import type { LazaretEvent } from '../../../../core/event/event.ts'
import { eventToJson } from '../../../../core/event/json.ts'
import type { Undecodable } from '../../../../ports/broker.ts'
import type { AmqpMessage, AmqpProperties } from '../../connection/amqp.ts'
import { decode } from './event-codec.ts'
import { headerBytes, MAX_HEADER_BYTES, OWN, textOf, timeText } from './headers.ts'

const SHORT_ERROR = 1_000

/** The message of a letter for the dead-letter queue: the original message, with the reason in its headers. */
export function letterProperties(
  properties: AmqpProperties,
  content: LazaretEvent | Undecodable,
  letter: DeadLetter,
): AmqpProperties {
  const { cycle } = letter
  const headers: Record<string, unknown> = {
    ...properties.headers,
    [OWN.reason]: cycle.reason,
    [OWN.category]: cycle.category,
    [OWN.attempts]: cycle.attemptCount,
    [OWN.firstFailedAt]: timeText(cycle.firstFailedAt),
    [OWN.lastFailedAt]: timeText(cycle.lastFailedAt),
  }
  if (cycle.failure !== undefined) {
    headers[OWN.error] = `${cycle.failure.name}: ${cycle.failure.message}`.slice(0, SHORT_ERROR)
    headers[OWN.fingerprint] = cycle.failure.fingerprint.id
  }
  headers[OWN.letter] = fitted(letter, 'raw' in content, headerBytes(headers))
  return { ...properties, headers }
}

/**
 * The letter without its event, which is the message itself. For an undecodable message it contains the event's
 * placeholder.
 */
function fitted(letter: DeadLetter, isUndecodable: boolean, taken: number): string {
  for (let kept = letter.cycle.attempts.length; ; kept >>= 1) {
    const attempts = kept === 0 ? [] : keepFirstAndLatest(letter.cycle.attempts, kept)
    const { event, ...rest } = letterToJson({ ...letter, cycle: { ...letter.cycle, attempts } })
    const { payload: _, payloadBase64: __, ...standIn } = event
    const text = JSON.stringify(isUndecodable ? { ...rest, standIn } : rest)
    // The attempts in the middle are left out.
    if (kept === 0 || taken + Buffer.byteLength(text) < MAX_HEADER_BYTES) return text
  }
}

/** Reads a letter of Lazaret from a dead-letter queue; undefined for a message of another program. */
export function readLetter(message: AmqpMessage): DeadLetter | undefined {
  const text = textOf(message.properties.headers?.[OWN.letter])
  if (text === undefined) return undefined
  const { standIn, ...rest } = JSON.parse(text)
  const content = decode(message, rest.channel, rest.origin)
  const event =
    'raw' in content ? { ...standIn, payloadBase64: encodeBase64(content.raw) } : eventToJson(content)
  return letterFromJson({ ...rest, event })
}
