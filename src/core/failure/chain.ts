import { isArray, property, readThrown, type Thrown } from './thrown.ts'

/** An error and its causes, the thrown error first. */
export type CauseChain = readonly [Thrown, ...Thrown[]]

const CAUSES_MAX = 8
const MEMBERS_MAX = 16
const ERRORS_MAX = 64

/**
 * Walks the causes and members of a thrown value. It visits each object once, and a limited number of them, so that it
 * ends for cycles and for getters that create a new cause at each call.
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

  /** The errors that an AggregateError or a SuppressedError carries in addition to its cause. */
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
    // `suppressed` was thrown first; `error` was thrown during the cleanup after it.
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
