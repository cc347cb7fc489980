import { keepFirstAndLatest } from '../../core/dead-letter/caps.ts'
import { letterFromJson } from '../../core/dead-letter/json.ts'
import type { Cycle, DeadLetter, Origin } from '../../core/dead-letter/letter.ts'
import { timeText } from '../../core/event/attributes.ts'
import { encodeBase64 } from '../../core/event/base64.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import { type EventJson, eventToJson } from '../../core/event/json.ts'
import type { Undecodable } from '../../ports/broker.ts'

/**
 * A letter on a broker is the original message with these headers. `letter` has all that the message itself does not say;
 * the others are for people and for tools that sort the messages of a dead-letter queue.
 */
export const LETTER_HEADERS = {
  letter: 'lazaret-letter',
  reason: 'lazaret-reason',
  category: 'lazaret-category',
  attempts: 'lazaret-attempts',
  error: 'lazaret-error',
  firstFailedAt: 'lazaret-first-failed-at',
  lastFailedAt: 'lazaret-last-failed-at',
  fingerprint: 'lazaret-fingerprint',
} as const

const MAX_ERROR_CHARACTERS = 1_000

/** The headers for people. */
export function describeCycle(cycle: Cycle): Record<string, string | number> {
  const { failure } = cycle
  const headers: Record<string, string | number> = {
    [LETTER_HEADERS.reason]: cycle.reason,
    [LETTER_HEADERS.category]: cycle.category,
    [LETTER_HEADERS.attempts]: cycle.attemptCount,
    [LETTER_HEADERS.firstFailedAt]: timeText(cycle.firstFailedAt),
    [LETTER_HEADERS.lastFailedAt]: timeText(cycle.lastFailedAt),
  }
  if (failure !== undefined) {
    headers[LETTER_HEADERS.error] = `${failure.name}: ${failure.message}`.slice(0, MAX_ERROR_CHARACTERS)
    headers[LETTER_HEADERS.fingerprint] = failure.fingerprint.id
  }
  return headers
}

/**
 * The letter without its event, which is the message itself. For an undecodable message it contains the event's
 * placeholder. Attempts in the middle are left out until the text has fewer bytes than `maxBytes`.
 */
export function letterToHeader(
  letter: DeadLetter,
  content: LazaretEvent | Undecodable,
  maxBytes: number,
): string {
  const standIn = 'raw' in content ? withoutPayload(letter.event) : undefined
  for (let kept = letter.cycle.attempts.length; ; kept >>= 1) {
    const attempts = kept === 0 ? [] : keepFirstAndLatest(letter.cycle.attempts, kept)
    const cycle = attempts === letter.cycle.attempts ? letter.cycle : { ...letter.cycle, attempts }
    const text = JSON.stringify({ ...letter, event: undefined, cycle, standIn })
    if (kept === 0 || Buffer.byteLength(text) < maxBytes) return text
  }
}

function withoutPayload(event: LazaretEvent): Omit<EventJson, 'payload' | 'payloadBase64'> {
  const { payload: _, payloadBase64: __, ...rest } = eventToJson(event)
  return rest
}

/** Reads what `letterToHeader` wrote. `decode` reads the event of the message. */
export function letterFromHeader(
  text: string,
  decode: (channel: string, origin: Origin) => LazaretEvent | Undecodable,
): DeadLetter {
  const { standIn, ...rest } = JSON.parse(text)
  const content = decode(rest.channel, rest.origin)
  const event =
    'raw' in content ? { ...standIn, payloadBase64: encodeBase64(content.raw) } : eventToJson(content)
  return letterFromJson({ ...rest, event })
}
