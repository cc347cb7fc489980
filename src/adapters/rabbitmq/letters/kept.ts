import type { Origin } from '../../../core/dead-letter/letter.ts'
import type { AmqpProperties } from '../connection/amqp.ts'
import { restoredHeaders } from './kept-headers.ts'

/** Properties of a message that an event has no place for. A replay gives them back. */
const KEPT_TEXTS = [
  'contentType',
  'contentEncoding',
  'correlationId',
  'replyTo',
  'messageId',
  'type',
  'appId',
] as const
const KEPT_NUMBERS = ['priority', 'timestamp'] as const

export function keptProperties(properties: AmqpProperties): Origin {
  const kept: Record<string, string | number> = {}
  for (const name of KEPT_TEXTS) {
    const value = properties[name]
    if (typeof value === 'string' && value !== '') kept[name] = value
  }
  for (const name of KEPT_NUMBERS) {
    const value = properties[name]
    if (typeof value === 'number') kept[name] = value
  }
  return kept
}

const PERSISTENT = 2

/** The properties to send a message back with: as they were, with the headers that a replay has now. */
export function returnedProperties(
  origin: Origin,
  headers: Readonly<Record<string, string>>,
): AmqpProperties {
  const properties: Record<string, unknown> = {}
  for (const name of [...KEPT_TEXTS, ...KEPT_NUMBERS]) {
    const value = origin[name]
    if (value !== undefined) properties[name] = value
  }
  return { ...properties, headers: restoredHeaders(origin, headers), deliveryMode: PERSISTENT }
}
