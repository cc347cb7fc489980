import type { Faults } from '../options/faults.ts'
import {
  type AttributeValue,
  attributeFor,
  attributeRemedy,
  headerFor,
  isReserved,
  parseTime,
  timeText,
} from './attributes.ts'
import { CORRELATION_HEADER } from './correlation.ts'
import type { LazaretEvent } from './event.ts'
import { isPlainObject } from './plain.ts'
import { cleanTextBytes } from './text.ts'

type Attribute = readonly [name: string, value: AttributeValue]

/** Returns the attribute for a header; undefined if the header must travel in `lazaretheaders`. */
export function attributeOf(header: string, value: string, event: LazaretEvent): Attribute | undefined {
  switch (header) {
    case 'traceparent':
    case 'tracestate':
      return isTraceText(value) ? [header, value] : undefined
    case CORRELATION_HEADER:
      return isTraceText(value) ? ['correlationid', value] : undefined
    // Reading would give the header above.
    case 'ce-correlationid':
    case 'cejson-correlationid':
      return undefined
    case 'ce-time':
      return isOtherSpelling(value, event.occurredAt) ? ['time', value] : undefined
    case 'ce-expirytime':
      return isOtherSpelling(value, event.expiresAt) ? ['expirytime', value] : undefined
    default: {
      const attribute = attributeFor(header, value)
      // `ce-x` and `cejson-x` cannot both become the attribute x.
      const isSecond = header.startsWith('cejson-') && Object.hasOwn(event.headers, `ce-${attribute?.[0]}`)
      return isSecond ? undefined : attribute
    }
  }
}

/**
 * Whether the text is another form of the same time, with another offset or finer fractions. Such a text is kept as it
 * was written.
 */
function isOtherSpelling(text: string, ms: number | undefined): boolean {
  return ms !== undefined && parseTime(text) === ms && timeText(ms) !== text
}

/** Returns headers for all attributes that no field of the event carries, and those from `lazaretheaders`. */
export function readHeaders(attributes: ReadonlyMap<string, unknown>, faults: Faults): Map<string, string> {
  const headers = new Map<string, string>()
  for (const [name, value] of attributes) {
    if (name === 'traceparent' || name === 'tracestate') readTrace(name, value, headers, faults)
    if (name === 'correlationid' && isTraceText(value)) {
      headers.set(CORRELATION_HEADER, value)
      continue
    }
    if (name === 'data_base64' || isReserved(name)) continue
    const remedy = attributeRemedy(name, value)
    if (remedy !== undefined) faults.add(name.slice(0, 40), value, remedy)
    else headers.set(...headerFor(name, value as AttributeValue))
  }
  if (attributes.has('lazaretheaders')) readPacked(attributes.get('lazaretheaders'), headers, faults)
  return headers
}

function readTrace(name: string, value: unknown, headers: Map<string, string>, faults: Faults): void {
  if (isTraceText(value)) headers.set(name, value)
  else faults.add(name, value, 'give a string without control characters')
}

function isTraceText(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && cleanTextBytes(value) !== undefined
}

function readPacked(packed: unknown, headers: Map<string, string>, faults: Faults): void {
  for (const [name, value] of Object.entries(parseObject(packed, faults))) {
    if (headers.has(name))
      faults.add('lazaretheaders', name, 'leave out headers that attributes already give')
    else headers.set(name, value)
  }
}

function parseObject(packed: unknown, faults: Faults): Record<string, string> {
  try {
    const parsed: unknown = JSON.parse(packed as string)
    // The check of all headers also checks that these values are strings.
    if (typeof packed === 'string' && isPlainObject(parsed)) return parsed as Record<string, string>
  } catch {
    // The fault is reported below, together with JSON that is not an object.
  }
  faults.add('lazaretheaders', packed, 'give the JSON text of an object of strings')
  return {}
}
