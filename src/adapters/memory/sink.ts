import type { LazaretEvent } from '../../core/event/event.ts'
import { type Resolved, resolveOptions } from '../../core/options/resolve.ts'
import { integer, withDefault } from '../../core/options/rules.ts'
import type { Sink } from '../../ports/sink.ts'

/** The default of the option `maxEvents`. */
export const DEFAULT_MAX_EVENTS = 100_000

/** Options of `memorySink()`. */
export interface MemorySinkOptions {
  /** The most events that the sink remembers [100 000]. It forgets the oldest batches first. */
  readonly maxEvents?: number | undefined
}

const rules = { maxEvents: withDefault(integer({ min: 1 }), DEFAULT_MAX_EVENTS) }

/** Creates a sink that remembers its events, for tests and examples. */
export function memorySink(options?: MemorySinkOptions): MemorySink {
  return new MemorySink(resolveOptions('memorySink', rules, options))
}

/** The sink that `memorySink()` makes. It remembers the events it gets. */
export class MemorySink implements Sink {
  /** The number of events since the beginning or the last `clear`, with the forgotten ones. */
  count = 0
  readonly #maxEvents: number
  #batches: (readonly LazaretEvent[])[] = []
  /**
   * The index of the first remembered batch. Forgotten batches are removed together, because each removal copies the
   * rest.
   */
  #first = 0
  #kept = 0

  constructor({ maxEvents }: Resolved<typeof rules>) {
    this.#maxEvents = maxEvents
  }

  get batches(): readonly (readonly LazaretEvent[])[] {
    return this.#batches.slice(this.#first)
  }

  get events(): readonly LazaretEvent[] {
    return this.batches.flat()
  }

  clear(): void {
    this.#batches = []
    this.#first = 0
    this.#kept = 0
    this.count = 0
  }

  async write(
    batch: readonly LazaretEvent[],
    { signal }: { readonly signal: AbortSignal },
  ): Promise<undefined> {
    signal.throwIfAborted()
    this.#batches.push([...batch])
    this.count += batch.length
    this.#kept += batch.length
    this.#forgetOldest()
  }

  async probe(): Promise<void> {}

  async close(): Promise<void> {}

  #forgetOldest(): void {
    while (this.#kept > this.#maxEvents && this.#first < this.#batches.length - 1) {
      this.#kept -= this.#batches[this.#first]!.length
      this.#batches[this.#first++] = []
    }
    if (this.#first * 2 > this.#batches.length) {
      this.#batches = this.batches.slice()
      this.#first = 0
    }
  }
}
