import type { Origin } from '../../core/dead-letter/letter.ts'
import { MAX_KEY_BYTES, WIDEST_EVENT_LIMITS } from '../../core/event/limits.ts'
import { isBytes, isPlainObject } from '../../core/event/plain.ts'
import { cleanTextBytes } from '../../core/event/text.ts'
import { eventHeaderName, shownHeaderName } from './names.ts'
import type { RecordHeader } from './record-headers.ts'

/** How the bytes of a header are written in the event: as text, as base64, or as an empty text for null. */
type ValueForm = 'text' | 'base64' | 'null'

/** A header in its place: its name in the event, and the rest if that is not a text under its own name. */
type HeaderForm = string | readonly [eventName: string, form: ValueForm, name: string]

/**
 * The parts of a record that an event cannot hold: the order of headers, names that occur twice, and values that are not
 * texts. It contains no values: an origin is shown to everyone, and values may be secret.
 */
interface RecordForms {
  readonly v: 1
  readonly headers: readonly HeaderForm[]
  /** The form of a key that is not a text. */
  readonly key?: 'base64' | 'empty' | undefined
  /** The form of a value that is neither JSON nor bytes. */
  readonly value?: 'text' | 'null' | undefined
}

/** The fields of an event that hold a record, and what is needed to write the same record again. */
interface RecordFields {
  readonly key: string | undefined
  readonly headers: Readonly<Record<string, string>>
  readonly payload: unknown
  readonly origin: Origin
}

const MAX_FORMS_LENGTH = 20_000
const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

/** The fields of an event for a record, such that the record can be sent back as it was; or with the reason why not. */
export function fieldsOf(
  key: Buffer | null,
  value: Buffer | null,
  headers: readonly RecordHeader[],
): RecordFields {
  const faults: string[] = []
  const keyField = keyOf(key, faults)
  const valueField = payloadOf(value)
  const { texts, forms } = headerTexts(headers, faults)
  const recordForms: RecordForms = { v: 1, headers: forms, key: keyField.form, value: valueField.form }
  const isPlain = forms.length < 2 && forms.every(form => typeof form === 'string')
  const isNeeded = !isPlain || keyField.form !== undefined || valueField.form !== undefined
  const text = isNeeded ? JSON.stringify(recordForms) : ''
  if (text.length > MAX_FORMS_LENGTH) faults.push('the names of its headers take too much space')
  const origin: Record<string, string> = {}
  if (isNeeded && text.length <= MAX_FORMS_LENGTH) origin['recordForms'] = text
  if (faults[0] !== undefined)
    origin['unkept'] = `${faults[0]}; send it manually, or redirect it to a channel`
  return { key: keyField.text, headers: texts, payload: valueField.payload, origin }
}

/** Why the record of a letter cannot be sent back as it was; undefined when it can. */
export function unkeptReason({ unkept }: Origin): string | undefined {
  return typeof unkept === 'string' ? unkept : undefined
}

function keyOf(
  key: Buffer | null,
  faults: string[],
): { text: string | undefined; form?: RecordForms['key'] } {
  if (key === null) return { text: undefined }
  if (key.length === 0) return { text: undefined, form: 'empty' }
  const text = cleanText(key)
  const isText = text !== undefined && key.length <= MAX_KEY_BYTES
  const written = isText ? text : key.toString('base64')
  if (written.length <= MAX_KEY_BYTES) return isText ? { text: written } : { text: written, form: 'base64' }
  faults.push(`its key has ${key.length} bytes, more than a letter can store`)
  return { text: undefined }
}

/** A text without control characters, which an event may have as its key; undefined if the bytes are not one. */
function cleanText(bytes: Buffer): string | undefined {
  const text = textOf(bytes)
  return text === undefined || cleanTextBytes(text) === undefined ? undefined : text
}

function textOf(bytes: Buffer): string | undefined {
  try {
    return UTF8.decode(bytes)
  } catch {
    return undefined
  }
}

/** Control characters that no text has. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what it looks for
const BINARY = /[\0-\x08\x0b\x0c\x0e-\x1f\x7f]/

/**
 * The payload as it can be shown and patched. JSON stays bytes if writing it again would give other bytes, because a
 * replay must send the original.
 */
function payloadOf(value: Buffer | null): { payload: unknown; form?: RecordForms['value'] } {
  if (value === null) return { payload: null, form: 'null' }
  const text = textOf(value)
  if (text === undefined || text === '') return { payload: new Uint8Array(value) }
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return BINARY.test(text) ? { payload: new Uint8Array(value) } : { payload: text, form: 'text' }
  }
  return { payload: JSON.stringify(json) === text ? json : new Uint8Array(value) }
}

function headerTexts(
  headers: readonly RecordHeader[],
  faults: string[],
): { readonly texts: Readonly<Record<string, string>>; readonly forms: readonly HeaderForm[] } {
  const texts: [string, string][] = []
  const forms: HeaderForm[] = []
  const taken = new Set<string>()
  for (const [nameBytes, value] of headers) {
    const name = textOf(nameBytes)
    const asName = name === undefined ? undefined : freeName(eventHeaderName(name), taken)
    if (name === undefined || asName === undefined) {
      faults.push(
        `header '${shownHeaderName(nameBytes.toString('utf8'))}' has a name that a letter cannot store`,
      )
      continue
    }
    taken.add(asName)
    const { text, form } = headerValue(value)
    texts.push([asName, text])
    forms.push(form === 'text' && asName === name ? name : [asName, form, name])
  }
  if (texts.length > WIDEST_EVENT_LIMITS.maxHeaders) faults.push(`there are ${texts.length} headers`)
  return { texts: Object.fromEntries(texts), forms }
}

/** A repeated header gets a number, because an event has each name once. */
function freeName(name: string | undefined, taken: ReadonlySet<string>): string | undefined {
  if (name === undefined || !taken.has(name)) return name
  let repeat = 2
  while (taken.has(`${name}~${repeat}`)) repeat++
  return eventHeaderName(`${name}~${repeat}`)
}

function headerValue(value: Buffer | null): { readonly text: string; readonly form: ValueForm } {
  if (value === null) return { text: '', form: 'null' }
  const text = textOf(value)
  return text === undefined || text.includes('\0')
    ? { text: value.toString('base64'), form: 'base64' }
    : { text, form: 'text' }
}

/** The key to send back. */
export function keyBytes(key: string | undefined, origin: Origin): Buffer | null {
  const { key: form } = formsOf(origin)
  if (key === undefined) return form === 'empty' ? Buffer.alloc(0) : null
  return Buffer.from(key, form === 'base64' ? 'base64' : 'utf8')
}

/** The value to send back: a text was sent as text, and every other payload that is not bytes was JSON. */
export function valueBytes(payload: unknown, origin: Origin): Buffer | null {
  const { value: form } = formsOf(origin)
  if (isBytes(payload)) return Buffer.from(payload)
  if (payload === null && form === 'null') return null
  return Buffer.from(typeof payload === 'string' && form === 'text' ? payload : JSON.stringify(payload))
}

/** The headers to send back: those of the record in their order and form, then those that are new. */
export function headerBytes(
  headers: Readonly<Record<string, string>>,
  origin: Origin,
): readonly RecordHeader[] {
  const rest = new Map(Object.entries(headers))
  const restored: RecordHeader[] = []
  for (const told of formsOf(origin).headers.filter(isHeaderForm)) {
    const [eventName, form, name] = typeof told === 'string' ? ([told, 'text', told] as const) : told
    const text = rest.get(eventName)
    // The header was removed by an edit.
    if (text === undefined) continue
    rest.delete(eventName)
    restored.push([Buffer.from(name), bytesOf(text, form)])
  }
  for (const [name, text] of rest) restored.push([Buffer.from(name), Buffer.from(text)])
  return restored
}

/** An edited text is sent as it is. */
function bytesOf(text: string, form: ValueForm): Buffer | null {
  if (form === 'null' && text === '') return null
  if (form !== 'base64') return Buffer.from(text)
  const bytes = Buffer.from(text, 'base64')
  return bytes.toString('base64') === text ? bytes : Buffer.from(text)
}

/** Headers of another form are sent as texts, behind the others. */
function isHeaderForm(told: unknown): told is HeaderForm {
  if (!Array.isArray(told)) return typeof told === 'string'
  return told.length === 3 && told.every(part => typeof part === 'string')
}

const NO_FORMS: RecordForms = Object.freeze({ v: 1, headers: [] })

function formsOf({ recordForms }: Origin): RecordForms {
  if (typeof recordForms !== 'string') return NO_FORMS
  try {
    const forms: unknown = JSON.parse(recordForms)
    const isKnown = isPlainObject(forms) && forms['v'] === 1 && Array.isArray(forms['headers'])
    return isKnown ? (forms as unknown as RecordForms) : NO_FORMS
  } catch {
    // Another program wrote the value. The headers are sent as texts then.
    return NO_FORMS
  }
}
