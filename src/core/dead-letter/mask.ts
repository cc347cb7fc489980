import type { JsonValue } from '../event/event.ts'
import { bytesOf, jsonInside, jsonLines } from './json-inside.ts'
import { type PathCursors, startCursors, stepInto } from './mask-path.ts'
import { MASK } from './mask-text.ts'
import { DEFAULT_MASKS, type Masks } from './masks.ts'

export const DISPLAY_MAX_DEPTH = 64
export const DISPLAY_MAX_NODES = 20_000

/**
 * Masks a value for display, logs, exports and alerts. The result is new JSON data of bounded size. The stored value
 * stays unmasked, because a replay must send the original. Null stays visible even under a masked name: a person often
 * needs to see that the value was missing.
 */
export function maskForDisplay(value: unknown, masks: Masks = DEFAULT_MASKS): JsonValue {
  return new DisplayWalk(masks).visit(value, startCursors(masks.paths))
}

class DisplayWalk {
  readonly #masks: Masks
  readonly #ancestors: object[] = []
  readonly #maskedNames = new Map<string, boolean>()
  #nodes = 0

  constructor(masks: Masks) {
    this.#masks = masks
  }

  visit(value: unknown, cursors: PathCursors): JsonValue {
    if (value === null || value === undefined) return null
    if (cursors.arrived) return MASK
    switch (typeof value) {
      case 'string':
        return this.#text(value, cursors)
      case 'boolean':
        return value
      case 'number':
        return this.#number(value)
      case 'bigint':
        return this.#masks.maskText(String(value))
      case 'object':
        return this.#object(value, cursors)
      default:
        return `[${typeof value}]`
    }
  }

  /** A text can hold JSON. Then its values are masked by path and name as well. */
  #text(text: string, cursors: PathCursors): string {
    const inside = jsonInside(text)
    if (inside === undefined) {
      const lines = jsonLines(text)?.map(line =>
        jsonInside(line) === undefined ? line : this.#text(line, cursors),
      )
      return this.#masks.maskText(lines?.join('\n') ?? text)
    }
    try {
      const shown = JSON.stringify(this.visit(inside, cursors))
      return shown === JSON.stringify(inside) ? this.#masks.maskText(text) : shown
    } catch {
      // It is too deep to be written.
      return MASK
    }
  }

  /** A number can be a card number too. */
  #number(value: number): JsonValue {
    const text = String(value)
    const masked = this.#masks.maskText(text)
    return masked === text && Number.isFinite(value) ? value : masked
  }

  #object(value: object, cursors: PathCursors): JsonValue {
    if (this.#ancestors.includes(value)) return '[circular]'
    if (this.#ancestors.length >= DISPLAY_MAX_DEPTH) return '[deeper]'
    this.#ancestors.push(value)
    try {
      const bytes = bytesOf(value)
      if (bytes !== undefined) return `[${bytes.byteLength} bytes]`
      return Array.isArray(value) ? this.#entries(value, cursors) : this.#properties(value, cursors)
    } catch {
      return '[unreadable]'
    } finally {
      this.#ancestors.pop()
    }
  }

  #entries(array: readonly unknown[], cursors: PathCursors): JsonValue {
    const shown: JsonValue[] = []
    for (let index = 0; index < array.length; index++) {
      if (++this.#nodes > DISPLAY_MAX_NODES) return [...shown, '[more]']
      shown.push(this.visit(array[index], stepInto(cursors, index)))
    }
    return shown
  }

  #properties(object: object, cursors: PathCursors): JsonValue {
    const shown = new Map<string, JsonValue>()
    for (const name of Object.keys(object)) {
      if (++this.#nodes > DISPLAY_MAX_NODES) {
        shown.set('[more]', '[more]')
        break
      }
      const value = read(object, name)
      if (value === undefined) continue
      const isMasked = value !== null && this.#isMaskedName(name)
      shown.set(
        freeName(this.#masks.maskText(name), shown),
        isMasked ? MASK : this.visit(value, stepInto(cursors, name)),
      )
    }
    // Unlike an assignment, `fromEntries` creates a property named `__proto__`.
    return Object.fromEntries(shown)
  }

  /** Remembers the answer, because the entries of an array mostly have the same names. */
  #isMaskedName(name: string): boolean {
    const known = this.#maskedNames.get(name)
    if (known !== undefined) return known
    const isMasked = this.#masks.isMaskedName(name)
    this.#maskedNames.set(name, isMasked)
    return isMasked
  }
}

function read(object: object, name: string): unknown {
  try {
    return (object as Readonly<Record<string, unknown>>)[name]
  } catch {
    return '[unreadable]'
  }
}

/** Masked names can be equal. A number keeps both properties. */
function freeName(name: string, taken: ReadonlyMap<string, unknown>): string {
  if (!taken.has(name)) return name
  let copy = taken.size + 1
  while (taken.has(`${name} (${copy})`)) copy++
  return `${name} (${copy})`
}
