import { cleanTextBytes } from './text.ts'
import { MAX_TIME_MS } from './uuid.ts'

export type AttributeValue = string | boolean | number

/**
 * Attributes of a CloudEvent that Lazaret has no field for travel in headers: texts as `ce-subject`, booleans and
 * whole numbers as `cejson-sampled`, so that they come out again with the type they went in with.
 */
const TEXT_PREFIX = 'ce-'
const JSON_PREFIX = 'cejson-'

const ATTRIBUTE_NAME = /^[a-z0-9]+$/
const MUST_BE_TEXT: ReadonlySet<string> = new Set(['subject', 'dataschema', 'datacontenttype'])

/** Names that a field or header of the event already speaks for. */
const RESERVED_ATTRIBUTES: ReadonlySet<string> = new Set([
  'specversion',
  'id',
  'source',
  'type',
  'time',
  'data',
  'partitionkey',
  'expirytime',
  'traceparent',
  'tracestate',
  'lazaretchannel',
  'lazaretidempotencykey',
  'lazaretheaders',
  'lazaretnosource',
])

export function isReserved(name: string): boolean {
  return RESERVED_ATTRIBUTES.has(name)
}

/** What is wrong with an attribute that travels in a header; undefined when nothing is. */
export function attributeRemedy(name: string, value: unknown): string | undefined {
  if (!ATTRIBUTE_NAME.test(name)) return 'use only a-z and 0-9 in its name'
  if (typeof value === 'string') {
    if (value === '' && MUST_BE_TEXT.has(name)) return 'leave it out instead of empty'
    return cleanTextBytes(value) === undefined ? 'remove control characters and half surrogates' : undefined
  }
  if (MUST_BE_TEXT.has(name)) return 'give a string'
  if (typeof value === 'boolean' || (Number.isSafeInteger(value) && !Object.is(value, -0))) return undefined
  return 'give a string, a boolean or a whole number'
}

export function headerFor(name: string, value: AttributeValue): readonly [name: string, value: string] {
  return typeof value === 'string' ? [TEXT_PREFIX + name, value] : [JSON_PREFIX + name, String(value)]
}

/** The attribute a header stands for, when `headerFor` would make exactly this header of it. */
export function attributeFor(
  header: string,
  value: string,
): readonly [name: string, value: AttributeValue] | undefined {
  const isText = header.startsWith(TEXT_PREFIX)
  if (!isText && !header.startsWith(JSON_PREFIX)) return undefined
  const name = header.slice(isText ? TEXT_PREFIX.length : JSON_PREFIX.length)
  const attribute = isText ? value : parseScalar(value)
  if (attribute === undefined || isReserved(name)) return undefined
  return attributeRemedy(name, attribute) === undefined ? [name, attribute] : undefined
}

function parseScalar(text: string): boolean | number | undefined {
  if (text === 'true' || text === 'false') return text === 'true'
  const number = Number(text)
  return String(number) === text ? number : undefined
}

const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,30})?(?:Z|[+-]\d\d:\d\d)$/i

/** Epoch milliseconds of an RFC 3339 time between 1970 and 9999; finer fractions are cut off. */
export function parseTime(text: string): number | undefined {
  const ms = RFC_3339.test(text) ? Date.parse(text.toUpperCase()) : Number.NaN
  return ms >= 0 && ms <= MAX_TIME_MS ? ms : undefined
}

export function timeText(ms: number): string {
  return new Date(ms).toISOString()
}
