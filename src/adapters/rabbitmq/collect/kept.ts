import type { Origin } from '../../../core/dead-letter/letter.ts'
import type { AmqpHeaders, AmqpProperties } from '../amqp.ts'
import { isReserved } from '../wire/headers.ts'
import { tellsOfFault } from './faults.ts'

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

/** Headers of other types than text, as JSON: an event has texts only, and the program may read a number. */
const MOST_TYPED_HEADERS_LENGTH = 16_000

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
  const typed = typedHeaders(properties.headers ?? {})
  if (typed !== undefined) kept['typedHeaders'] = typed
  return kept
}

function typedHeaders(headers: AmqpHeaders): string | undefined {
  const typed = Object.entries(headers).filter(
    ([name, value]) =>
      typeof value !== 'string' && !Buffer.isBuffer(value) && !isReserved(name) && !tellsOfFault(name),
  )
  if (typed.length === 0) return undefined
  const text = JSON.stringify(Object.fromEntries(typed))
  return text.length > MOST_TYPED_HEADERS_LENGTH ? undefined : text
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
  return {
    ...properties,
    headers: { ...headers, ...readTyped(origin['typedHeaders']) },
    deliveryMode: PERSISTENT,
  }
}

function readTyped(text: unknown): AmqpHeaders {
  if (typeof text !== 'string') return {}
  try {
    return JSON.parse(text) as AmqpHeaders
  } catch {
    return {}
  }
}
