import { cleanTextBytes } from './text.ts'
import { TimeWriter } from './time-writer.ts'
import { MAX_TIME_MS } from './uuid.ts'

export type AttributeValue = string | boolean | number

/**
 * Headers carry the CloudEvent attributes that no field of an event carries: texts as `ce-subject`, booleans and integers
 * as `cejson-sampled`. The prefix keeps the type, so that writing the attribute gives the original value.
 */
const TEXT_PREFIX = 'ce-'
const JSON_PREFIX = 'cejson-'

const ATTRIBUTE_NAME = /^[a-z0-9]+$/
const MUST_BE_TEXT: ReadonlySet<string> = new Set(['subject', 'dataschema', 'datacontenttype'])

/** Attributes that have their own field or header in the event. */
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
  'lazaretdata',
  'lazaretidempotencykey',
  'lazaretheaders',
  'lazaretnosource',
])

export function isReserved(name: string): boolean {
  return RESERVED_ATTRIBUTES.has(name)
}

/** Returns the remedy for an attribute that a header cannot carry; undefined if the header can carry it. */
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

/** Returns the attribute of a header, if `headerFor` makes exactly this header from it. */
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

/** Reads an RFC 3339 time between 1970 and 9999 as epoch milliseconds. It drops finer fractions. */
export function parseTime(text: string): number | undefined {
  const ms = RFC_3339.test(text) ? Date.parse(text.toUpperCase()) : Number.NaN
  return ms >= 0 && ms <= MAX_TIME_MS ? ms : undefined
}

const TIMES = new TimeWriter()

export function timeText(ms: number): string {
  return TIMES.write(ms)
}
