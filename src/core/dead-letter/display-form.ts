import type { JsonValue } from '../event/event.ts'
import { isBytes } from '../event/plain.ts'
import { bounded, isArray, isInstance, property, readThrown, textProperty } from '../failure/thrown.ts'

const MAX_LEVELS = 12
const MAX_VALUES = 1_000
const MAX_MEMBERS = 100
const TEXT_MAX = 1_000
const NAME_MAX = 200
const LEFT_OUT = '[left out]'
const LEFT_OUT_START = '[left out'

/**
 * A form of any value that a person can read: plain data, bounded in size and depth, with a text for each part that JSON
 * cannot write. It never throws. A replay must not send this form, because it differs from the original.
 */
export function displayForm(value: unknown): JsonValue {
  return new Display().show(value)
}

/** Whether a display form lacks values, because there were too many of them or they were too deep. */
export function hasLeftOut(form: unknown): boolean {
  return JSON.stringify(form)?.includes(LEFT_OUT_START) === true
}

class Display {
  #left = MAX_VALUES
  readonly #ancestors: unknown[] = []

  show(value: unknown): JsonValue {
    if (this.#left-- <= 0) return LEFT_OUT
    switch (typeof value) {
      case 'string':
        return bounded(value, TEXT_MAX)
      case 'boolean':
        return value
      case 'number':
        return Number.isFinite(value) ? value : `[${value}]`
      case 'object':
        return value === null ? null : this.#object(value)
      case 'function':
        return '[function]'
      case 'undefined':
        return '[undefined]'
      default:
        return `[${typeof value}] ${readThrown(value).message}`
    }
  }

  #object(value: object): JsonValue {
    try {
      if (this.#ancestors.includes(value)) return '[circular]'
      if (this.#ancestors.length >= MAX_LEVELS) return LEFT_OUT
      if (isBytes(value)) return `[${value.byteLength} bytes]`
      if (isInstance(value, Date))
        return Number.isNaN(value.getTime()) ? '[invalid date]' : value.toISOString()
      this.#ancestors.push(value)
      try {
        return this.#members(value)
      } finally {
        this.#ancestors.pop()
      }
    } catch {
      return '[a getter or proxy that throws]'
    }
  }

  #members(value: object): JsonValue {
    if (isArray(value)) return this.#list(value)
    if (isInstance(value, Map)) return { '[Map]': this.#list([...value]) }
    if (isInstance(value, Set)) return { '[Set]': this.#list([...value]) }
    const names = Object.keys(value)
    const shown: [string, JsonValue][] = names
      .slice(0, MAX_MEMBERS)
      .map(name => [bounded(name, NAME_MAX), this.#member(value, name)])
    // `message` of an error is not enumerable, so the loop over the properties misses it.
    const message = isInstance(value, Error) ? textProperty(value, 'message') : undefined
    if (message !== undefined) shown.unshift(['[error]', bounded(message, TEXT_MAX)])
    if (names.length > MAX_MEMBERS) shown.push([LEFT_OUT, names.length - MAX_MEMBERS])
    return Object.fromEntries(shown)
  }

  #list(value: readonly unknown[]): JsonValue {
    const shown = Array.from({ length: Math.min(value.length, MAX_MEMBERS) }, (_, index) =>
      this.show(property(value, index)),
    )
    if (value.length > MAX_MEMBERS) shown.push(`${LEFT_OUT_START}: ${value.length - MAX_MEMBERS}]`)
    return shown
  }

  #member(value: object, name: string): JsonValue {
    try {
      return this.show((value as Record<string, unknown>)[name])
    } catch (error) {
      return `[threw ${bounded(readThrown(error).message, NAME_MAX)}]`
    }
  }
}
