import { createIdSource, type IdSource } from '../../../core/event/uuid.ts'
import { type Resolved, resolveOptions } from '../../../core/options/resolve.ts'
import { milliseconds, withDefault } from '../../../core/options/rules.ts'
import {
  type Clock,
  type ClockAndRandomOptions,
  clockAndRandomRules,
  monotonicNow,
} from '../../../ports/clock.ts'
import type { Claim, Ledger } from '../../../ports/ledger.ts'

const DAY_MS = 86_400_000
/** The default of the option `retentionMs`. */
export const DEFAULT_RETENTION_MS = 7 * DAY_MS

/** Options of `memoryLedger()`. */
export interface MemoryLedgerOptions extends ClockAndRandomOptions {
  /** How long a done pair stays done [7 days]. */
  readonly retentionMs?: number | undefined
}

const rules = {
  ...clockAndRandomRules,
  retentionMs: withDefault(milliseconds({ min: 1 }), DEFAULT_RETENTION_MS),
}

type Entry =
  /** `endsAt`: by the clock that never steps, because a wall clock that is set must not end a lease. */
  | { readonly kind: 'leased'; readonly token: string; readonly endsAt: number }
  | { readonly kind: 'done'; readonly at: number }

/** The number of old entries that each claim checks. It exceeds one, so that more entries can be removed than are added. */
const CHECKED_PER_CLAIM = 2

/** Creates a ledger for one process, for tests and examples. Its records end with the process. */
export function memoryLedger(options?: MemoryLedgerOptions): MemoryLedger {
  return new MemoryLedger(resolveOptions('memoryLedger', rules, options))
}

/**
 * A ledger in memory. An expired lease belongs to its token until another process claims the pair, so that a slow handler
 * without a competitor can still complete. No method awaits between reading and writing an entry, so claims are atomic.
 */
export class MemoryLedger implements Ledger {
  readonly #clock: Clock
  readonly #newToken: IdSource
  readonly #retentionMs: number
  readonly #entries = new Map<string, Entry>()
  #sweep = this.#entries.entries()

  constructor({ clock, random, retentionMs }: Resolved<typeof rules>) {
    this.#clock = clock
    this.#newToken = createIdSource(random)
    this.#retentionMs = retentionMs
  }

  /** The number of known pairs. */
  get size(): number {
    return this.#entries.size
  }

  async claim(handler: string, key: string, leaseMs: number): Promise<Claim> {
    const now = this.#clock.now()
    this.#forgetOld(now)
    const pair = pairOf(handler, key)
    const entry = this.#entries.get(pair)
    if (entry?.kind === 'done' && !this.#isOld(entry, now)) return { kind: 'done', at: entry.at }
    const leftMs = entry?.kind === 'leased' ? entry.endsAt - monotonicNow(this.#clock) : 0
    // The wall clock is read after the one that never steps, and the fraction of a millisecond is rounded up: the lease must not seem to end early.
    if (leftMs > 0) return { kind: 'busy', until: this.#clock.now() + Math.ceil(leftMs) }
    const token = this.#newToken(now)
    this.#entries.set(pair, this.#leased(token, leaseMs))
    return { kind: 'claimed', token }
  }

  async renew(handler: string, key: string, token: string, leaseMs: number): Promise<boolean> {
    return this.#replace(handler, key, token, this.#leased(token, leaseMs))
  }

  async complete(handler: string, key: string, token: string): Promise<boolean> {
    return this.#replace(handler, key, token, { kind: 'done', at: this.#clock.now() })
  }

  async release(handler: string, key: string, token: string): Promise<boolean> {
    return this.#replace(handler, key, token, undefined)
  }

  async forget(handler: string, key: string): Promise<void> {
    const pair = pairOf(handler, key)
    if (this.#entries.get(pair)?.kind === 'done') this.#entries.delete(pair)
  }

  async close(): Promise<void> {}

  #leased(token: string, leaseMs: number): Entry {
    return { kind: 'leased', token, endsAt: monotonicNow(this.#clock) + leaseMs }
  }

  #replace(handler: string, key: string, token: string, entry: Entry | undefined): boolean {
    const pair = pairOf(handler, key)
    const held = this.#entries.get(pair)
    if (held?.kind !== 'leased' || held.token !== token) return false
    if (entry === undefined) this.#entries.delete(pair)
    else this.#entries.set(pair, entry)
    return true
  }

  /** Each claim checks a few entries in turn. So memory is bounded, and no single claim pays for the whole cleanup. */
  #forgetOld(now: number): void {
    for (let looked = 0; looked < CHECKED_PER_CLAIM; looked++) {
      const { value, done } = this.#sweep.next()
      if (done) {
        this.#sweep = this.#entries.entries()
        return
      }
      const [pair, entry] = value
      if (this.#isOld(entry, now)) this.#entries.delete(pair)
    }
  }

  #isOld(entry: Entry, now: number): boolean {
    if (entry.kind === 'done') return now >= entry.at + this.#retentionMs
    return monotonicNow(this.#clock) >= entry.endsAt + this.#retentionMs
  }
}

/** JSON separates the two parts, whatever characters they contain. */
function pairOf(handler: string, key: string): string {
  return JSON.stringify([handler, key])
}
