import { isPlainObject } from './plain.ts'
import { jsonTextBytes } from './text.ts'

/** The longest number in JSON, such as -2.2250738585072014e-308, plus one byte. */
const NUMBER_BYTES = 25
/** The longest escape of one character: `\u001f`. */
const ESCAPE_BYTES = 6
/** Longer texts are measured, because the bound would be far too high for them. */
const SHORT_TEXT = 64

/**
 * A fast test whether JSON can represent a payload unchanged within the given number of bytes. False means "perhaps not".
 * Nearly every payload is valid and far below the limit, so an upper bound is enough for it. The full walk, which finds
 * the exact size and the faults, costs several times as much.
 */
export function isCertainlyValid(value: unknown, levels: number, room: number): boolean {
  try {
    return bytesAtMost(value, levels, room) <= room
  } catch {
    return false
  }
}

/** Returns an upper bound of the size, or NaN if a part may be invalid. */
function bytesAtMost(value: unknown, levels: number, room: number): number {
  switch (typeof value) {
    case 'string':
      return textAtMost(value, room)
    case 'boolean':
      return 5
    case 'number':
      return Number.isFinite(value) ? NUMBER_BYTES : Number.NaN
    case 'object':
      if (value === null) return 4
      if (levels === 0 || 'toJSON' in value) return Number.NaN
      return Array.isArray(value)
        ? arrayAtMost(value, levels - 1, room)
        : objectAtMost(value, levels - 1, room)
    default:
      return Number.NaN
  }
}

function textAtMost(text: string, room: number): number {
  if (text.length < SHORT_TEXT) return ESCAPE_BYTES * text.length + 2
  return text.length > room ? Number.NaN : jsonTextBytes(text)
}

function arrayAtMost(value: readonly unknown[], levels: number, room: number): number {
  const isPlain =
    Object.getPrototypeOf(value) === Array.prototype && Object.keys(value).length === value.length
  if (!isPlain) return Number.NaN
  let bytes = 2
  for (let index = 0; index < value.length; index++) {
    bytes += 1 + bytesAtMost(value[index], levels, room)
    if (!(bytes <= room)) return Number.NaN
  }
  return bytes
}

function objectAtMost(value: object, levels: number, room: number): number {
  if (!isPlainObject(value) || Object.getOwnPropertySymbols(value).length > 0) return Number.NaN
  let bytes = 2
  // The loop includes inherited names. They only raise the bound a little.
  for (const name in value) {
    const member = value[name]
    if (member === undefined) continue
    bytes += textAtMost(name, room) + 2 + bytesAtMost(member, levels, room)
    if (!(bytes <= room)) return Number.NaN
  }
  return bytes
}
