import type { RetryLimitPolicy } from '../../core/limit/options.ts'
import { Fifo } from './lane-fifo.ts'

/** Retries of one write. The far side meets them between its start and its end, and nobody here knows when. */
export class Starts {
  readonly count: number
  /** From when on they are in the past. */
  at = Number.POSITIVE_INFINITY

  constructor(count: number) {
    this.count = count
  }

  ended(now: number): void {
    this.at = now
  }
}

/**
 * Holds a lane to its retry limit in every window of time, exactly, and as the far side counts: a retry keeps its place
 * in the window until its write has ended and the window is over. The limit gives each retry its turn; but turns that
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
      if (this.#freeAt(first) > now) break
      this.#starts.shift()
      this.#count -= first.count
    }
    return this.most - this.#count
  }

  add(count: number): Starts {
    const starts = new Starts(count)
    this.#starts.push(starts)
    this.#count += count
    return starts
  }

  /** When there is room again, if there is none. While the oldest write is under way nobody can tell. */
  get roomAt(): number | undefined {
    const { first } = this.#starts
    if (this.#count < this.most || first === undefined) return undefined
    const freeAt = this.#freeAt(first)
    return freeAt === Number.POSITIVE_INFINITY ? undefined : freeAt
  }

  move(ms: number): void {
    const all = this.#starts.drain()
    for (const starts of all) {
      starts.at += ms
      this.#starts.push(starts)
    }
  }

  /** A clock shows whole milliseconds: what it calls a second may be one less a moment. */
  #freeAt({ at }: Starts): number {
    return at + this.#windowMs + 1
  }
}
