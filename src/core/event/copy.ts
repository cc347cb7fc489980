import type { LazaretEvent } from './event.ts'
import { isBytes, isPlainObject } from './plain.ts'

/** Events have at most 500 levels. */
const MAX_LEVELS = 501
/** More objects and lists than any event has. Only a message of another client can have more, when it shares parts. */
const MAX_PARTS = 1_000_000

/** A copy of the event for code that may change what it gets. The letter of an event must have what was sent. */
export function copyOfEvent(event: LazaretEvent): LazaretEvent {
  return { ...event, headers: { ...event.headers }, payload: copyOfPayload(event.payload) }
}

/**
 * A copy of the JSON values and the bytes of a payload. Instances of classes are shared, because nothing can copy them. So
 * is a payload that cannot be copied: with a cycle, a getter that throws, or too many parts.
 */
export function copyOfPayload(payload: unknown): unknown {
  if (typeof payload !== 'object' || payload === null) return payload
  try {
    return copyOf(payload, MAX_LEVELS, { left: MAX_PARTS })
  } catch {
    return payload
  }
}

function copyOf(value: object, levels: number, parts: { left: number }): unknown {
  if (levels === 0 || --parts.left < 0) throw new RangeError('a cycle, or too many parts')
  if (Array.isArray(value)) {
    const copy: unknown[] = value.slice()
    for (let index = 0; index < copy.length; index++) {
      const member = copy[index]
      if (typeof member === 'object' && member !== null) copy[index] = copyOf(member, levels - 1, parts)
    }
    return copy
  }
  if (isPlainObject(value)) {
    const copy: Record<string, unknown> = { ...value }
    // Without a list of its names, which takes a third of the time. A program may have added to the prototype of all objects.
    for (const name in copy) {
      const member = copy[name]
      if (typeof member === 'object' && member !== null && Object.hasOwn(copy, name))
        copy[name] = copyOf(member, levels - 1, parts)
    }
    return copy
  }
  return isBytes(value) ? Uint8Array.prototype.slice.call(value) : value
}
