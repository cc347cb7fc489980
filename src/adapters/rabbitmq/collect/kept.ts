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

const MOST_NAMES_LENGTH = 4_000

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

/**
 * The names of headers that are no texts. An event has them as JSON; the program may want its numbers and tables back. Only
 * names are kept: an origin is shown to everyone, and what headers say may be a secret.
 */
function typedHeaders(headers: AmqpHeaders): string | undefined {
  const names: string[] = []
  for (const name in headers) {
    const value = headers[name]
    if (typeof value === 'string' || Buffer.isBuffer(value) || isReserved(name) || tellsOfFault(name))
      continue
    names.push(name)
  }
  if (names.length === 0) return undefined
  const text = JSON.stringify(names)
  return text.length > MOST_NAMES_LENGTH ? undefined : text
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
  return { ...properties, headers: withTypes(headers, origin['typedHeaders']), deliveryMode: PERSISTENT }
}

function withTypes(headers: Readonly<Record<string, string>>, names: unknown): AmqpHeaders {
  if (typeof names !== 'string') return headers
  const typed: Record<string, unknown> = { ...headers }
  try {
    for (const name of JSON.parse(names) as readonly string[])
      if (Object.hasOwn(headers, name)) typed[name] = JSON.parse(headers[name]!)
  } catch {
    // Somebody changed them; as texts they are still there.
  }
  return typed
}
