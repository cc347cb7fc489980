import type { Clock } from '../../ports/clock.ts'

const MAX_KEPT = 5_000

/** Caches results for a short time, so that many consoles query a store no more often than one. */
export class TtlCache {
  readonly #clock: Clock
  readonly #entries = new Map<string, { readonly until: number; readonly value: Promise<unknown> }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get<T>(key: string, forMs: number, ask: () => Promise<T>): Promise<T> {
    const now = this.#clock.now()
    const kept = this.#entries.get(key)
    // A clock that was set back must not extend the life of a result.
    if (kept !== undefined && kept.until > now && kept.until <= now + forMs) return kept.value as Promise<T>
    if (this.#entries.size >= MAX_KEPT) this.#entries.clear()
    const value = ask()
    this.#entries.set(key, { until: now + forMs, value })
    value.catch(() => this.#entries.delete(key))
    return value
  }

  clear(): void {
    this.#entries.clear()
  }
}
