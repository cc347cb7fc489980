import { checkEvent } from '../../core/event/check.ts'
import { EventError } from '../../core/event/errors.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import { WIDEST_EVENT_LIMITS } from '../../core/event/limits.ts'
import type { Undecodable } from '../../ports/broker.ts'

const UTF8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })

export function readJson(content: Uint8Array): unknown {
  return JSON.parse(UTF8.decode(content))
}

/** Content that says it is JSON and is not, is undecodable; everything else is a payload of some kind. */
export function readPayload(content: Uint8Array, contentType: string | undefined): unknown {
  if (contentType === undefined || contentType === '') return orBytes(content, readJson)
  if (/^application\/(?:[\w.-]+\+)?json\b/i.test(contentType)) return readJson(content)
  if (/^text\//i.test(contentType)) return orBytes(content, bytes => UTF8.decode(bytes))
  return new Uint8Array(content)
}

function orBytes(content: Uint8Array, reading: (content: Uint8Array) => unknown): unknown {
  try {
    return reading(content)
  } catch {
    return new Uint8Array(content)
  }
}

/** The event of a message, if it is one. Throws what is wrong with it. */
export function checkedEvent(event: LazaretEvent): LazaretEvent {
  const faults = checkEvent(event, WIDEST_EVENT_LIMITS)
  if (faults.length > 0) throw new EventError('message', faults)
  return event
}

/** All bytes of a message that is not an event, with the fault. */
export function undecodable(content: Uint8Array, error: unknown): Undecodable {
  return { raw: new Uint8Array(content), problem: error instanceof Error ? error.message : String(error) }
}
