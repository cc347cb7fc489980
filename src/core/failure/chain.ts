import { isArray, property, readThrown, type Thrown } from './thrown.ts'

/** An error and what caused it, the nearest first. */
export type CauseChain = readonly [Thrown, ...Thrown[]]

const CAUSES_MAX = 8
const MEMBERS_MAX = 16
const ERRORS_MAX = 64

/**
 * Walks the causes and members of what was thrown. It meets each object once and only so many of them, so a cycle, or
 * a getter that makes up a new cause each time, ends.
 */
export class CauseWalk {
  readonly #met = new Set<unknown>()

  chainFrom(value: unknown): CauseChain {
    this.#met.add(value)
    const chain: [Thrown, ...Thrown[]] = [readThrown(value)]
    let cause = property(value, 'cause')
    while (chain.length < CAUSES_MAX && this.#meets(cause)) {
      chain.push(readThrown(cause))
      cause = property(cause, 'cause')
    }
    return chain
  }

  /** The errors that an AggregateError or a SuppressedError carries beside its cause. */
  *membersOf(thrown: Thrown): Generator<unknown> {
    const errors = property(thrown.value, 'errors')
    if (isArray(errors)) {
      const length = property(errors, 'length')
      const count = Math.min(typeof length === 'number' ? length : 0, MEMBERS_MAX)
      for (let index = 0; index < count; index++) {
        const member = property(errors, index)
        if (this.#meets(member)) yield member
      }
    }
    // The error that was thrown first, then the one that came up while cleaning up after it.
    for (const key of ['suppressed', 'error']) {
      const member = thrown.name === 'SuppressedError' ? property(thrown.value, key) : undefined
      if (this.#meets(member)) yield member
    }
  }

  #meets(value: unknown): boolean {
    if (value === undefined || value === null) return false
    if (this.#met.size >= ERRORS_MAX || this.#met.has(value)) return false
    this.#met.add(value)
    return true
  }
}
