import { isPlainObject } from '../event/plain.ts'
import type { Faults } from '../options/faults.ts'

/** Reads the fields of one stored record and collects all faults, so that one error reports them together. */
export class Reader {
  readonly #record: Readonly<Record<string, unknown>>
  readonly #path: string
  readonly #faults: Faults

  constructor(value: unknown, path: string, faults: Faults) {
    this.#path = path
    this.#faults = faults
    this.#record = isPlainObject(value) ? value : {}
    if (!isPlainObject(value)) faults.add(path, value, 'give a JSON object')
  }

  field<T>(name: string, accepts: (value: unknown) => value is T, remedy: string): T {
    const value = this.#value(name)
    if (!accepts(value)) this.#faults.add(this.#pathOf(name), value, remedy)
    return value as T
  }

  optional<T>(name: string, accepts: (value: unknown) => value is T, remedy: string): T | undefined {
    return this.#value(name) === undefined ? undefined : this.field(name, accepts, remedy)
  }

  text(name: string): string {
    return this.field(name, isText, 'give a string')
  }

  optionalText(name: string): string | undefined {
    return this.optional(name, isText, 'give a string')
  }

  /** A time in epoch milliseconds, a wait or a count. */
  number(name: string): number {
    return this.field(name, isAmount, 'give a number of at least 0')
  }

  optionalNumber(name: string): number | undefined {
    return this.optional(name, isAmount, 'give a number of at least 0')
  }

  optionalRecord<T>(name: string): Readonly<Record<string, T>> | undefined {
    return this.optional(
      name,
      (value): value is Record<string, T> => isPlainObject(value),
      'give a JSON object',
    )
  }

  group<T>(name: string, read: (value: unknown, path: string, faults: Faults) => T): T {
    return read(this.#value(name), this.#pathOf(name), this.#faults)
  }

  optionalGroup<T>(name: string, read: (value: unknown, path: string, faults: Faults) => T): T | undefined {
    return this.#value(name) === undefined ? undefined : this.group(name, read)
  }

  list<T>(name: string, read: (value: unknown, path: string, faults: Faults) => T): readonly T[] {
    const entries = this.field(name, (value): value is unknown[] => Array.isArray(value), 'give an array')
    if (!Array.isArray(entries)) return []
    return entries.map((entry, index) => read(entry, `${this.#pathOf(name)}[${index}]`, this.#faults))
  }

  names(): readonly string[] {
    return Object.keys(this.#record)
  }

  #value(name: string): unknown {
    return this.#record[name]
  }

  #pathOf(name: string): string {
    return `${this.#path}.${name}`
  }
}

function isText(value: unknown): value is string {
  return typeof value === 'string'
}

function isAmount(value: unknown): value is number {
  return typeof value === 'number' && Number.isFinite(value) && value >= 0
}
