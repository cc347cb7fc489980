import { visibleText } from '../../core/options/visible.ts'

const MAX_TEXT = 2_000
const MAX_NAME = 200
const MAX_ENTRIES = 50
const MAX_DEPTH = 8
/** The characters of outside text in one answer. An answer has to leave room for others in the context of a model. */
const MAX_TOTAL = 40_000
const CUT = '…'
/** Line breaks and tabs are harmless inside JSON, which escapes them. */
const KEPT: Readonly<Record<string, string>> = { '\n': '\n', '\t': '\t' }

/**
 * Bounds the outside values of one answer and makes every character of them visible: a text that a person cannot see in the
 * console must not reach a model either. Counts what it cuts.
 */
export class Cleaner {
  #left = MAX_TOTAL
  cuts = 0

  clean(value: unknown, depth = 0): unknown {
    if (typeof value === 'string') return this.#text(value, MAX_TEXT)
    if (typeof value !== 'object' || value === null) return value
    if (depth >= MAX_DEPTH) return this.#cut()
    if (Array.isArray(value)) return this.#first(value).map(each => this.clean(each, depth + 1))
    const fields = this.#first(Object.entries(value)).filter(([, each]) => each !== undefined)
    return Object.fromEntries(
      fields.map(([name, each]) => [this.#text(name, MAX_NAME), this.clean(each, depth + 1)]),
    )
  }

  #first<T>(all: readonly T[]): readonly T[] {
    if (all.length <= MAX_ENTRIES) return all
    this.#cut()
    return all.slice(0, MAX_ENTRIES)
  }

  #text(text: string, most: number): string {
    const length = Math.min(most, this.#left)
    this.#left -= Math.min(length, text.length)
    const shown = visibleText(text.slice(0, length).toWellFormed(), KEPT)
    return text.length <= length ? shown : shown + this.#cut()
  }

  #cut(): string {
    this.cuts++
    return CUT
  }
}
