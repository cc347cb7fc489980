import type { LazaretEvent } from './event.ts'
import { isBytes } from './plain.ts'

/**
 * Says that the bytes of the payload are JSON with numbers that JavaScript would round. Letters and replays keep the bytes, and
 * handlers get the JSON.
 */
const JSON_BYTES = 'x-json-bytes'

const EXACT = Symbol('exact payload')

/** A number is exact up to fifteen digits. */
const MAY_BE_ROUNDED = /\d(?:\d{15}|\.\d{14}|[eE][+-]?\d)/
const NUMBER_OR_TEXT = /["\d]/g
const NUMBER = /\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** Whether reading a JSON text and writing it again would change a number. */
export function changesNumbers(text: string): boolean {
  if (!MAY_BE_ROUNDED.test(text)) return false
  for (let at = next(NUMBER_OR_TEXT, text, 0)?.index; at !== undefined; ) {
    const number = next(NUMBER, text, at)?.[0]
    if (number !== undefined && isRounded(number)) return true
    const end = number === undefined ? endOfText(text, at) : at + number.length
    at = next(NUMBER_OR_TEXT, text, end)?.index
  }
  return false
}

function next(pattern: RegExp, text: string, from: number): RegExpExecArray | null {
  pattern.lastIndex = from
  return pattern.exec(text)
}

/** Behind the text that begins here. One pattern for it would need too much stack for a text of megabytes. */
function endOfText(json: string, start: number): number {
  for (let quote = json.indexOf('"', start + 1); quote > 0; quote = json.indexOf('"', quote + 1)) {
    let backslashes = 0
    while (json[quote - 1 - backslashes] === '\\') backslashes++
    if (backslashes % 2 === 0) return quote + 1
  }
  return json.length
}

function isRounded(number: string): boolean {
  return canonical(number) !== canonical(String(Number(number)))
}

/** Sign, digits without zeroes at either end, and the position of the point. Two forms of one number become equal. */
function canonical(number: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(number) ?? []
  const digits = `${whole}${fraction}`
  const significant = digits.replace(/^0+/, '')
  const bare = significant.replace(/0+$/, '')
  if (bare === '') return '0'
  const scale = Number(exponent) - fraction.length + (significant.length - bare.length)
  return `${sign}${bare}e${scale}`
}

/**
 * The event of a message with this content. If reading the content has rounded a number, the payload is the content itself, as
 * bytes, so that a letter has the original and a replay sends it. `text` is the decoded content, if the caller has it.
 */
export function withExactNumbers(event: LazaretEvent, content: Uint8Array, text?: string): LazaretEvent {
  const { payload } = event
  if (typeof payload === 'string' || isBytes(payload)) return event
  if (!changesNumbers(text ?? UTF8.decode(content))) return event
  const headers = { ...event.headers, [JSON_BYTES]: 'true' }
  return { ...event, headers, payload: new Uint8Array(content) }
}

/** The same for a CloudEvent in structured mode, whose data is a part of the content. */
export function withExactData(event: LazaretEvent, content: Uint8Array): LazaretEvent {
  const text = UTF8.decode(content)
  if (typeof event.payload === 'string' || isBytes(event.payload) || !changesNumbers(text)) return event
  const { data } = parseWith(text, source => rawJson(source)) as { readonly data?: unknown }
  return withExactNumbers(event, new TextEncoder().encode(JSON.stringify(data) ?? 'null'))
}

/** Whether the payload is kept as bytes because of its numbers. Events that were described by other programs can lack headers. */
export function isJsonBytes({ headers, payload }: Pick<LazaretEvent, 'headers' | 'payload'>): boolean {
  return isBytes(payload) && headers?.[JSON_BYTES] !== undefined
}

/** The event as handlers, schemas and filters get it: with JSON as its payload. Its large numbers are rounded. */
export function withJson(event: LazaretEvent): LazaretEvent {
  if (!isJsonBytes(event)) return event
  const parsed = parsedBy(event, JSON.parse)
  // Not enumerable, so that a handler does not see it and a copy does not have it.
  return Object.defineProperty({ ...parsed }, EXACT, { value: event.payload })
}

/** The payload of an event of `withJson` as it was sent, to send it on. */
export function exactPayloadOf(event: LazaretEvent): unknown {
  return (event as { readonly [EXACT]?: unknown })[EXACT] ?? event.payload
}

/** The event as people see it: numbers that JavaScript would round are texts. */
export function withNumberTexts(event: LazaretEvent): LazaretEvent {
  return isJsonBytes(event) ? parsedBy(event, text => parseWith(text, source => source)) : event
}

/** Another program may have set the header. */
function parsedBy(event: LazaretEvent, parse: (text: string) => unknown): LazaretEvent {
  try {
    return { ...event, payload: parse(UTF8.decode(event.payload as Uint8Array)) }
  } catch {
    return event
  }
}

/** Parses JSON with other values in place of the numbers that would be rounded. */
function parseWith(text: string, standInFor: (source: string) => unknown): unknown {
  // The types of the language do not have the source of a value yet.
  const parse = JSON.parse as (
    text: string,
    reviver: (name: string, value: unknown, context: { readonly source?: string }) => unknown,
  ) => unknown
  return parse(text, (_, value, { source }) =>
    typeof value === 'number' && source !== undefined && isRounded(source) ? standInFor(source) : value,
  )
}

/** A value that JSON writes as this text. */
function rawJson(text: string): unknown {
  return (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text)
}
