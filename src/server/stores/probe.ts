import type { Clock } from '../../ports/clock.ts'
import type { LetterStats } from '../../ports/dead-letters.ts'
import type { Federation } from './federation.ts'

const PROBE_EVERY_MS = 1_000

/** What a probe says of the stores. It names a store that is down and says nothing else of it: anyone may ask. */
export interface StoreProbe {
  readonly stats: readonly LetterStats[]
  readonly down: readonly string[]
}

/**
 * Asks every store whether it answers, at most once a second and never twice at once, however many ask: whoever reaches
 * the server may ask without a token. An answer that takes longer than a second is shared by all who wait for it; the
 * federation bounds how long that is.
 */
export class Probe {
  readonly #stores: Federation
  readonly #clock: Clock
  #latest: { readonly at: number; readonly answer: Promise<StoreProbe>; isPending: boolean } | undefined

  constructor(stores: Federation, clock: Clock) {
    this.#stores = stores
    this.#clock = clock
  }

  look(): Promise<StoreProbe> {
    const now = this.#clock.now()
    const latest = this.#latest
    // A clock that was set back must not keep an answer for longer than a second.
    const isFresh = latest !== undefined && now >= latest.at && now < latest.at + PROBE_EVERY_MS
    if (latest !== undefined && (latest.isPending || isFresh)) return latest.answer
    const next = { at: now, answer: this.#ask(), isPending: true }
    this.#latest = next
    void next.answer.then(() => {
      next.isPending = false
    })
    return next.answer
  }

  #ask(): Promise<StoreProbe> {
    return this.#stores
      .each(({ store }) => store.deadLetters.stats())
      .then(
        ({ found, faults }) => ({
          stats: found.map(({ value }) => value),
          down: faults.map(each => each.store),
        }),
        () => ({ stats: [], down: this.#stores.all.map(({ name }) => name) }),
      )
  }
}
