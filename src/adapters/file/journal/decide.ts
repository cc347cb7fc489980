import type { Write } from './batch.ts'
import type { Journal } from './journal.ts'
import type { JournalRecord } from './line.ts'
import type { Place } from './segment-set.ts'

/** What is to be written, and what follows when it is. */
export interface Decision<T> {
  readonly records: readonly JournalRecord[]
  written(places: readonly Place[]): T
  /** It was not written. */
  failed?(): void
}

/**
 * Decides and writes as one step: the decision is made when all that any process wrote before is known, and nothing
 * comes between it and its records. Resolves when they are durable.
 */
export function decide<T>(
  journal: Journal,
  make: () => Decision<T> | Promise<Decision<T>>,
  isLazy = false,
): Promise<T> {
  return new Promise((resolve, reject) => {
    journal.submit(new DecidedWrite(make, resolve, reject), isLazy)
  })
}

class DecidedWrite<T> implements Write {
  readonly #make: () => Decision<T> | Promise<Decision<T>>
  readonly #resolve: (answer: T) => void
  readonly #reject: (error: unknown) => void
  #decision: Decision<T> | undefined

  constructor(
    make: () => Decision<T> | Promise<Decision<T>>,
    resolve: (answer: T) => void,
    reject: (error: unknown) => void,
  ) {
    this.#make = make
    this.#resolve = resolve
    this.#reject = reject
  }

  records(): readonly JournalRecord[] | Promise<readonly JournalRecord[]> {
    const made = this.#make()
    return made instanceof Promise ? made.then(decision => this.#decide(decision)) : this.#decide(made)
  }

  written(places: readonly Place[]): void {
    this.#resolve(this.#decision!.written(places))
  }

  failed(error: unknown): void {
    this.#decision?.failed?.()
    this.#reject(error)
  }

  #decide(decision: Decision<T>): readonly JournalRecord[] {
    this.#decision = decision
    return decision.records
  }
}
