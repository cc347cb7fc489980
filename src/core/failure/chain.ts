import { isArray, property, readThrown, type Thrown } from './thrown.ts'

/** An error and its causes, the thrown error first. */
export type CauseChain = readonly [Thrown, ...Thrown[]]

const CAUSES_MAX = 8
const MEMBERS_MAX = 16
const ERRORS_MAX = 64
const NO_MEMBERS: readonly unknown[] = []

/**
 * Walks the causes and members of a thrown value. It visits each object once, and a limited number of them, so that it
 * ends for cycles and for getters that create a new cause at each call.
 */
export class CauseWalk {
  /** An array, because most walks meet one value, and a set for it takes longer than the walk. */
  readonly #met: unknown[] = []

  chainFrom(value: unknown): CauseChain {
    this.#met.push(value)
    const chain: [Thrown, ...Thrown[]] = [readThrown(value)]
    let cause = property(value, 'cause')
    while (chain.length < CAUSES_MAX && this.#meets(cause)) {
      chain.push(readThrown(cause))
      cause = property(cause, 'cause')
    }
    return chain
  }

  /** The errors that an AggregateError or a SuppressedError carries in addition to its cause. */
  membersOf(thrown: Thrown): Iterable<unknown> {
    const errors = property(thrown.value, 'errors')
    return errors === undefined && thrown.name !== 'SuppressedError'
      ? NO_MEMBERS
      : this.#members(thrown, errors)
  }

  /** Each member is met when it is read: the causes of one may contain the next. */
  *#members(thrown: Thrown, errors: unknown): Generator<unknown> {
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
    if (this.#met.length >= ERRORS_MAX || this.#met.includes(value)) return false
    this.#met.push(value)
    return true
  }
}
