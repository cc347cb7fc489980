import { checkEvent } from '../../core/event/check.ts'
import { CloudEventError, EventError, faultText, SealError } from '../../core/event/errors.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import { WIDEST_EVENT_LIMITS } from '../../core/event/limits.ts'
import { JsonError, parseJson } from '../../core/event/parse-json.ts'
import { LazaretError } from '../../core/failure/errors.ts'
import type { Fault } from '../../core/options/faults.ts'
import type { Undecodable } from '../../ports/broker.ts'

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function readJson(content: Uint8Array): unknown {
  return parseJson(decodeUtf8(content))
}

function decodeUtf8(content: Uint8Array): string {
  try {
    return UTF8.decode(content)
  } catch {
    throw new NotUtf8Error('it is not valid UTF-8')
  }
}

class NotUtf8Error extends Error {
  override readonly name = 'NotUtf8Error'
}

/** A payload, and the text that it was read from, if it was text. */
interface ReadContent {
  readonly payload: unknown
  readonly text: string | undefined
}

const JSON_TYPE = /^application\/(?:[\w.-]+\+)?json\b/i
const TEXT_TYPE = /^text\//i

/** Content that says it is JSON and is not, is undecodable; everything else is a payload of some kind. */
export function readContent(content: Uint8Array, contentType: string | undefined): ReadContent {
  if (contentType === 'application/json') return readJsonContent(content)
  if (contentType === undefined || contentType === '') return orBytes(content, readJsonContent)
  if (JSON_TYPE.test(contentType)) return readJsonContent(content)
  if (TEXT_TYPE.test(contentType)) return orBytes(content, readText)
  return bytesOf(content)
}

export function readPayload(content: Uint8Array, contentType: string | undefined): unknown {
  return readContent(content, contentType).payload
}

function readJsonContent(content: Uint8Array): ReadContent {
  const text = decodeUtf8(content)
  return { payload: parseJson(text), text }
}

function readText(content: Uint8Array): ReadContent {
  const text = decodeUtf8(content)
  return { payload: text, text }
}

function bytesOf(content: Uint8Array): ReadContent {
  return { payload: new Uint8Array(content), text: undefined }
}

function orBytes(content: Uint8Array, read: (content: Uint8Array) => ReadContent): ReadContent {
  try {
    return read(content)
  } catch {
    return bytesOf(content)
  }
}

/** The event of a message, if it is one. Throws what is wrong with it. */
export function checkedEvent(event: LazaretEvent): LazaretEvent {
  const faults = checkEvent(event, WIDEST_EVENT_LIMITS)
  if (faults.length > 0) throw new EventError('message', faults)
  return event
}

/**
 * All bytes of a message that is not an event, with the fault. The fault quotes nothing of the message: the bytes have no names
 * by which masks could hide a value, so people see their number only.
 */
export function undecodable(content: Uint8Array, error: unknown): Undecodable {
  const missingKey = error instanceof SealError ? error : undefined
  return { raw: new Uint8Array(content), problem: problemOf(error), missingKey }
}

function problemOf(error: unknown): string {
  if (error instanceof EventError) return faultText('message', error.faults.map(withoutValue))
  if (error instanceof CloudEventError) return faultText('CloudEvent', error.faults.map(withoutValue))
  const isOwn = error instanceof JsonError || error instanceof NotUtf8Error || error instanceof LazaretError
  // The error of any other codec may quote what it could not decode.
  return isOwn ? error.message : 'the codec failed'
}

const SHOWN_NUMBER = /^-?\d[\d.e+-]*$/

/** Tells only the kind of a text or a number that was received. */
function withoutValue(fault: Fault): Fault {
  const { received } = fault
  if (received.startsWith('"')) return { ...fault, received: 'a text' }
  return SHOWN_NUMBER.test(received) ? { ...fault, received: 'a number' } : fault
}
