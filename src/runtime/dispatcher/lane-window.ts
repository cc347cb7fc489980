import type { RetryLimitPolicy } from '../../core/limit/options.ts'
import { Fifo } from './lane-fifo.ts'

interface Starts {
  at: number
  readonly count: number
}

/**
 * Holds a lane to its retry limit in every window of time, exactly. The limit gives each retry its turn; but turns that
 * come up while a write is under way are used together when it ends, and without this they would meet the next ones.
 */
export class StartWindow {
  readonly most: number
  readonly #windowMs: number
  readonly #starts = new Fifo<Starts>()
  #count = 0

  constructor({ pace }: RetryLimitPolicy) {
    if (pace.kind === 'batch') {
      this.most = pace.batch.size
      this.#windowMs = pace.batch.everyMs
    } else {
      // As many whole retries as fit into a second, or the time that one takes.
      this.most = Math.max(1, Math.floor(pace.rate.perSecond))
      this.#windowMs = this.most * pace.rate.intervalMs
    }
  }

  /** How many may start now. */
  room(now: number): number {
    for (let first = this.#starts.first; first !== undefined; first = this.#starts.first) {
      if (first.at + this.#windowMs > now) break
      this.#starts.shift()
      this.#count -= first.count
    }
    return this.most - this.#count
  }

  add(now: number, count: number): void {
    this.#starts.push({ at: now, count })
    this.#count += count
  }

  /** When there is room again, if there is none. */
  get roomAt(): number | undefined {
    const { first } = this.#starts
    return this.#count < this.most || first === undefined ? undefined : first.at + this.#windowMs
  }

  move(ms: number): void {
    const starts = this.#starts.drain()
    for (const start of starts) {
      start.at += ms
      this.#starts.push(start)
    }
  }
}
