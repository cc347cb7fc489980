import { hash } from 'node:crypto'
import { checkEvent } from '../../../core/event/check.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import {
  MAX_ID_BYTES,
  MAX_IDEMPOTENCY_KEY_BYTES,
  MAX_TYPE_BYTES,
  WIDEST_EVENT_LIMITS,
} from '../../../core/event/limits.ts'
import { REPLAY_HEADERS } from '../../../core/event/replay-headers.ts'
import { MAX_TIME_MS } from '../../../core/event/uuid.ts'
import { decode, fitting } from '../broker/wire/event-codec.ts'
import { isReserved, textOf } from '../broker/wire/headers.ts'
import type { AmqpMessage } from '../connection/amqp.ts'
import type { Death } from './deaths.ts'
import { collectedPayload } from './payload.ts'
import type { Place } from './place.ts'

const UNNAMED = 'message'
const ID_DIGITS = 32

/** The event of a message that was given up on. Whatever it is, it can be stored. */
export function collectedEvent(
  message: AmqpMessage,
  place: Place,
  deaths: readonly Death[],
  failedAt: number,
  texts: Readonly<Record<string, string>>,
): LazaretEvent {
  if (place.isOwn) {
    const content = decode(message, place.channel, {})
    if (!('raw' in content)) return content
  }
  const event = foreign(message, place, deaths, failedAt, texts)
  if (checkEvent(event, WIDEST_EVENT_LIMITS).length === 0) return event
  return { ...event, headers: {}, payload: new Uint8Array(message.content) }
}

function foreign(
  message: AmqpMessage,
  { channel, routingKey }: Place,
  deaths: readonly Death[],
  failedAt: number,
  texts: Readonly<Record<string, string>>,
): LazaretEvent {
  const { properties } = message
  const headers = properties.headers ?? {}
  const id = fitting(properties.messageId, MAX_ID_BYTES) ?? madeId(message, deaths)
  return {
    v: 1,
    id,
    type: fitting(properties.type, MAX_TYPE_BYTES) ?? fitting(routingKey, MAX_TYPE_BYTES) ?? UNNAMED,
    channel,
    key: undefined,
    idempotencyKey: fitting(textOf(headers[REPLAY_HEADERS.idempotencyKey]), MAX_IDEMPOTENCY_KEY_BYTES) ?? id,
    occurredAt: sentAt(properties.timestamp) ?? failedAt,
    expiresAt: undefined,
    source: undefined,
    headers: texts,
    payload: collectedPayload(message),
  }
}

/** In seconds, as AMQP says; some write milliseconds, which would be in a far future. */
function sentAt(timestamp: number | undefined): number | undefined {
  if (timestamp === undefined || !(timestamp > 0)) return undefined
  const ms = Math.floor(timestamp > 100_000_000_000 ? timestamp : timestamp * 1_000)
  return ms <= MAX_TIME_MS ? ms : undefined
}

/**
 * For a message without an id: made of all that a second delivery does not change. Two that are equal in everything and
 * died in the same second in the same queue cannot be told apart, and are one letter.
 */
function madeId({ content, properties, fields }: AmqpMessage, deaths: readonly Death[]): string {
  const { type, timestamp, correlationId, headers = {} } = properties
  const said = Object.entries(headers).filter(([name]) => !isReserved(name))
  const { exchange, routingKey } = fields
  const told = JSON.stringify([deaths, exchange, routingKey, type, timestamp, correlationId, said])
  return `amqp-${hash('sha256', Buffer.concat([Buffer.from(told), content])).slice(0, ID_DIGITS)}`
}
