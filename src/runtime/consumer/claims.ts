import type { Claim, Ledger } from '../../ports/ledger.ts'
import { type Resilient, resilient } from '../resilient/resilient.ts'
import type { ConsumerPolicy } from './consumer-options.ts'
import type { Work } from './work.ts'

/**
 * A consumer's side of the ledger: claim, run, complete. A claim is released when its attempt fails, so that the retry
 * gets it, and completed only after the handler has succeeded.
 */
export class Claims {
  readonly #ledger: Ledger
  readonly #name: string
  readonly #leaseMs: number
  readonly #tokens = new WeakMap<Work, string>()
  readonly #complete: Resilient<[key: string, token: string], boolean>

  constructor(ledger: Ledger, { name, leaseMs, clock, random }: ConsumerPolicy) {
    this.#ledger = ledger
    this.#name = name
    this.#leaseMs = leaseMs
    // The effect has happened: that it did must be written down if it can be.
    this.#complete = resilient((key: string, token: string) => ledger.complete(name, key, token), {
      name: 'ledger',
      retry: {},
      clock,
      random,
    })
  }

  /** `unknown`: the ledger could not be asked. */
  async claim(work: Work): Promise<Claim | { readonly kind: 'unknown' }> {
    try {
      const claim = await this.#ledger.claim(this.#name, work.event.idempotencyKey, this.#leaseMs)
      if (claim.kind === 'claimed') this.#tokens.set(work, claim.token)
      return claim
    } catch {
      return { kind: 'unknown' }
    }
  }

  /**
   * If it cannot be written down, the event is settled all the same: not settling it would run the handler again for
   * certain, while a missing entry does so only if the broker repeats itself.
   */
  async complete(work: Work): Promise<void> {
    const token = this.#take(work)
    if (token !== undefined) await this.#complete(work.event.idempotencyKey, token).catch(() => false)
  }

  /** A claim that cannot be released runs out by itself. */
  async release(work: Work): Promise<void> {
    const token = this.#take(work)
    if (token !== undefined)
      await this.#ledger.release(this.#name, work.event.idempotencyKey, token).catch(() => false)
  }

  #take(work: Work): string | undefined {
    const token = this.#tokens.get(work)
    this.#tokens.delete(work)
    return token
  }
}
