import { Fifo } from '../../../core/fifo.ts'
import type { RetryLimitPolicy } from '../../../core/limit/options.ts'

/** Retries of one write. The receiver gets them between its start and its end, at an unknown time. */
export class Starts {
  readonly count: number
  /** From when on they are in the past. */
  at = Number.POSITIVE_INFINITY
  readonly #past: Fifo<Starts>

  constructor(count: number, past: Fifo<Starts>) {
    this.count = count
    this.#past = past
  }

  ended(now: number): void {
    this.at = now
    this.#past.push(this)
  }
}

/**
 * Holds a lane to its retry limit in every window of time, exactly, and as the receiver counts: a retry keeps its place
 * in the window until its write has ended and the window is over. The limit gives each retry its turn; but turns that
 * come up while a write is under way are used together when it ends, and without this they would meet the next ones.
 */
export class StartWindow {
  readonly most: number
  readonly #windowMs: number
  /** Writes in the order of their ends. A hanging write keeps only its own place. */
  readonly #past = new Fifo<Starts>()
  #count = 0

  constructor({ pacing }: RetryLimitPolicy) {
    if (pacing.kind === 'batch') {
      this.most = pacing.batch.size
      this.#windowMs = pacing.batch.everyMs
    } else {
      // As many whole retries as fit into a second, or the time that one takes.
      this.most = Math.max(1, Math.floor(pacing.rate.perSecond))
      this.#windowMs = this.most * pacing.rate.intervalMs
    }
  }

  /** How many may start now. */
  room(now: number): number {
    for (let first = this.#past.first; first !== undefined; first = this.#past.first) {
      if (this.#freeAt(first) > now) break
      this.#past.shift()
      this.#count -= first.count
    }
    return this.most - this.#count
  }

  add(count: number): Starts {
    this.#count += count
    return new Starts(count, this.#past)
  }

  /** The time from which there is room again; undefined while all writes are in flight. */
  get roomAt(): number | undefined {
    const { first } = this.#past
    return this.#count < this.most || first === undefined ? undefined : this.#freeAt(first)
  }

  move(ms: number): void {
    for (const starts of this.#past.drain()) {
      starts.at += ms
      this.#past.push(starts)
    }
  }

  /** A clock shows whole milliseconds: what it calls a second may be one less a moment. */
  #freeAt({ at }: Starts): number {
    return at + this.#windowMs + 1
  }
}
