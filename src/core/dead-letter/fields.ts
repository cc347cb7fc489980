// The fields of a letter by their paths, in the words of conditions (where.ts): `payload.customer.id`, `header.tenant`.
import type { JsonValue } from '../event/event.ts'
import { masksOfLetter } from './event-masks.ts'
import type { DeadLetter } from './letter.ts'
import { maskEvent, maskFacts } from './mask-letter.ts'
import { MASK } from './mask-text.ts'
import type { Masks } from './masks.ts'

/** Conditions cannot name a field that lies deeper. */
const MAX_STEPS = 20
const MAX_FIELDS = 1_000

interface FieldOptions {
  /**
   * `apart` gives each entry of an array a path of its own, `payload.items.0.sku`. `together` gives the entries one path,
   * `payload.items.sku`, as conditions compare them; then a field can have several values.
   */
  readonly entries: 'apart' | 'together'
}

/** The values of each field as JSON texts, masked. The number of fields is bounded. */
export function shownFields(
  { event, metadata }: Pick<DeadLetter, 'event' | 'metadata'>,
  masks: Masks,
  options: FieldOptions,
): ReadonlyMap<string, readonly string[]> {
  const own = masksOfLetter({ event, metadata }, masks)
  const { payload, headers } = maskEvent(event, masks, own)
  const walk = new FieldWalk(options)
  walk.visit('payload', payload ?? null, 1)
  walk.visit('header', headers ?? {}, 1)
  if (metadata !== undefined) walk.visit('metadata', maskFacts('metadata', metadata, own), 1)
  return walk.fields
}

/** Whether a mask hides the value or a part of it. */
export function isMaskedValue(text: string): boolean {
  return text.includes(MASK)
}

class FieldWalk {
  readonly fields = new Map<string, string[]>()
  readonly #options: FieldOptions

  constructor(options: FieldOptions) {
    this.#options = options
  }

  visit(path: string, value: JsonValue, depth: number): void {
    const inner = typeof value !== 'object' || value === null ? [] : Object.entries(value)
    // Without a header there is no field.
    const isLeaf = inner.length === 0 && (depth > 1 || typeof value !== 'object' || value === null)
    if (isLeaf || depth > MAX_STEPS) {
      this.#keep(path, value)
      return
    }
    const isTogether = Array.isArray(value) && this.#options.entries === 'together'
    for (const [name, each] of inner)
      this.visit(isTogether ? path : `${path}.${stepText(name)}`, each, depth + 1)
  }

  #keep(path: string, value: JsonValue): void {
    const values = this.fields.get(path)
    const text = JSON.stringify(value)
    if (values !== undefined) {
      if (!values.includes(text) && values.length < MAX_FIELDS) values.push(text)
    } else if (this.fields.size < MAX_FIELDS) this.fields.set(path, [text])
  }
}

/** A name stands in quotes where a condition could not be read without them. */
function stepText(name: string): string {
  return /^[^\s."=!~]+$/.test(name) ? name : JSON.stringify(name)
}
