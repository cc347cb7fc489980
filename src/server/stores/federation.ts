import { LetterError } from '../../core/dead-letter/errors.ts'
import { OptionsError } from '../../core/options/faults.ts'
import { withoutCredentials } from '../../core/options/show.ts'
import { type Clock, settlesWithin } from '../../ports/clock.ts'
import type { Store } from '../../ports/store.ts'
import { notFound, ProblemError, problemOf } from '../problem.ts'
import type { StoreFault } from '../store-fault.ts'

/** A store that does not answer within this time counts as down. */
const TIMEOUT_MS = 5_000

export interface NamedStore {
  readonly name: string
  readonly store: Store
}

/** The answers of the stores that answered, and the faults of the others. */
export interface StoreAnswers<T> {
  readonly found: readonly (NamedStore & { readonly value: T })[]
  readonly faults: readonly StoreFault[]
}

/**
 * Queries several stores as one. A store that is down becomes a fault in the answer, so that an outage of one store does
 * not hide the letters of the others.
 */
export class Federation {
  readonly all: readonly NamedStore[]
  readonly #clock: Clock

  constructor(stores: Readonly<Record<string, Store>>, clock: Clock) {
    this.all = Object.entries(stores).map(([name, store]) => ({ name, store }))
    this.#clock = clock
  }

  /** All stores, or the one with this name. */
  chosen(name?: string): readonly NamedStore[] {
    if (name === undefined) return this.all
    const chosen = this.all.filter(each => each.name === name)
    if (chosen.length > 0) return chosen
    const names = this.all.map(each => each.name).join(', ')
    throw new ProblemError('not-found', `Unknown store ${JSON.stringify(name)}. Use one of: ${names}.`)
  }

  /** Rejects only when no store answers. */
  async each<T>(ask: (named: NamedStore) => Promise<T>, name?: string): Promise<StoreAnswers<T>> {
    const asked = this.chosen(name)
    const results = await Promise.all(asked.map(named => this.#ask(named, ask)))
    const found = results.flatMap(result => ('value' in result ? [result] : []))
    const faults = results.flatMap(result => ('problem' in result ? [result] : []))
    if (found.length > 0 || asked.length === 0) return { found, faults }
    throw new ProblemError('unavailable', faults.map(each => `${each.store}: ${each.problem}`).join('; '))
  }

  /** The first store that has it. While a store is down, a missing ID is `unavailable` and not `not-found`. */
  async find<T>(
    what: string,
    id: string,
    ask: (named: NamedStore) => Promise<T | undefined>,
    name?: string,
  ): Promise<NamedStore & { readonly value: T }> {
    const { found, faults } = await this.each(ask, name)
    for (const { value, ...named } of found) if (value !== undefined) return { ...named, value }
    if (faults.length === 0) throw notFound(what, id)
    const down = faults.map(({ store, problem }) => `${store} (${problem})`).join(', ')
    throw new ProblemError(
      'unavailable',
      `No reachable store has the ${what}. Unreachable: ${down}. Retry when they answer.`,
    )
  }

  async #ask<T>(
    named: NamedStore,
    ask: (named: NamedStore) => Promise<T>,
  ): Promise<(NamedStore & { readonly value: T }) | StoreFault> {
    try {
      const asking = ask(named)
      if (!(await settlesWithin(this.#clock, TIMEOUT_MS, asking)))
        return { store: named.name, problem: `no answer within ${TIMEOUT_MS / 1_000} s` }
      return { ...named, value: await asking }
    } catch (error) {
      // A wrong request is not a fault of the store.
      if (error instanceof OptionsError || error instanceof ProblemError) throw error
      // Neither is a letter that cannot be read, and its error quotes what is stored.
      if (error instanceof LetterError) throw problemOf(error)
      return { store: named.name, problem: withoutCredentials((error as Error).message) }
    }
  }
}

/** The field `faults` of an answer, or nothing when every store answered. */
export function withFaults(faults: readonly StoreFault[]): { faults?: StoreFault[] } {
  return faults.length === 0 ? {} : { faults: [...faults] }
}
