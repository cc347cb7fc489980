import type { RetryLimitPolicy } from '../../core/limit/options.ts'
import type { Random } from '../../core/random.ts'
import { RetryLimiter } from '../limiters.ts'
import { Fifo } from './lane-fifo.ts'
import { TimeHeap } from './lane-heap.ts'
import type { Item } from './lane-item.ts'
import { type Starts, StartWindow } from './lane-window.ts'

/** What the lane does when an item may not go on. */
export interface RetryGate {
  /** The retry limit has no turn for it; `delay` means that it waits for one. */
  limited(item: Item, action: 'delay' | 'drop' | 'dead-letter'): void
  /** Its turn has come: may it start, as far as the limit on all events is concerned? If not, it was given up on. */
  mayStart(item: Item, now: number): boolean
}

/** Turns are reserved for so many ahead at most: those reserved when the breaker opens are lost. */
const TURNS_AHEAD = 100

/**
 * The way back of what failed, and of what waited behind an open breaker:
 *
 *   backoff ──its time is over──▶ asking ──it has a turn──▶ turns ──the turn has come──▶ ready ──▶ a batch
 *                       held ───────▲
 *
 * The retry limit counts events, not batches: however they are put together, no window of time sees more of them start
 * than it allows. A turn is reserved only shortly before it comes, so that a breaker that opens anew wastes few.
 */
export class Retries {
  readonly #policy: RetryLimitPolicy | undefined
  readonly #random: Random
  readonly #gate: RetryGate
  readonly #limiter: RetryLimiter | undefined
  readonly #window: StartWindow | undefined
  readonly #ahead: number
  readonly #backoff = new TimeHeap()
  readonly #asking = new Fifo<Item>()
  readonly #turns = new TimeHeap()
  readonly #ready = new Fifo<Item>()

  constructor(policy: RetryLimitPolicy | undefined, random: Random, gate: RetryGate) {
    this.#policy = policy
    this.#random = random
    this.#gate = gate
    this.#limiter = policy && new RetryLimiter(policy)
    this.#window = policy && new StartWindow(policy)
    this.#ahead = Math.max(TURNS_AHEAD, this.#window?.most ?? 0)
  }

  get size(): number {
    return this.#backoff.size + this.#asking.size + this.#turns.size + this.#ready.size
  }

  backOff(item: Item, until: number): void {
    this.#backoff.add(item, until)
  }

  /** Waits for nothing but a turn. */
  ask(item: Item, now: number): void {
    item.askedAt = now
    this.#asking.push(item)
  }

  /** Whether anything would start now if it had its turn. */
  isDue(now: number): boolean {
    if (this.#asking.size > 0 || this.#ready.size > 0) return true
    const nextAt = earliest([this.#backoff.nextAt, this.#turns.nextAt])
    return nextAt !== undefined && nextAt <= now
  }

  /** Moves everything on as far as it may go now. */
  advance(now: number): void {
    for (let item = this.#backoff.takeDue(now); item !== undefined; item = this.#backoff.takeDue(now))
      this.ask(item, now)
    this.#takeTurns(now)
    for (let item = this.#turns.takeDue(now); item !== undefined; item = this.#turns.takeDue(now))
      if (this.#gate.mayStart(item, now)) this.#ready.push(item)
  }

  /** How many could be put into a batch now. */
  ready(now: number): number {
    return Math.min(this.#ready.size, this.#window?.room(now) ?? this.#ready.size)
  }

  get first(): Item | undefined {
    return this.#ready.first
  }

  take(): Item {
    return this.#ready.shift()!
  }

  /** So many of those that were taken start in one write; the end of it is to be told. */
  started(count: number): Starts | undefined {
    return count > 0 ? this.#window?.add(count) : undefined
  }

  /** When there may be something to do again, if nothing else happens. */
  nextAt(): number | undefined {
    const times = [this.#backoff.nextAt, this.#turns.nextAt]
    if (this.#ready.size > 0) times.push(this.#window?.roomAt)
    return earliest(times)
  }

  /** What has a turn now cannot use it, and asks again when the time has come. */
  loseTurns(): void {
    const lost = [...this.#ready.drain(), ...this.#turns.drain()]
    if (lost.length > 0) this.#asking.putBack(lost)
  }

  /** Takes out what would start now if it could. */
  drainDue(now: number): Item[] {
    this.loseTurns()
    const due = this.#asking.drain()
    for (let item = this.#backoff.takeDue(now); item !== undefined; item = this.#backoff.takeDue(now))
      due.push(item)
    return due
  }

  drain(): Item[] {
    this.loseTurns()
    return [...this.#asking.drain(), ...this.#backoff.drain()]
  }

  /** The clock was set back: all times move with it, or everything would wait until it has caught up. */
  move(ms: number): void {
    this.#backoff.move(ms)
    this.#turns.move(ms)
    this.#window?.move(ms)
  }

  #takeTurns(now: number): void {
    while (this.#asking.size > 0 && this.#turns.size + this.#ready.size < this.#ahead) {
      const item = this.#asking.shift()!
      if (this.#limiter === undefined) this.#turns.add(item, now)
      else if (this.#hasWaitedTooLong(item, now)) this.#gate.limited(item, 'dead-letter')
      else this.#takeTurn(this.#limiter, item, now)
    }
  }

  #takeTurn(limiter: RetryLimiter, item: Item, now: number): void {
    const turn = limiter.ask(now, this.#random)
    if (turn.action === 'drop' || turn.action === 'dead-letter') {
      this.#gate.limited(item, turn.action)
      return
    }
    if (turn.action === 'wait') this.#gate.limited(item, 'delay')
    this.#turns.add(item, turn.action === 'wait' ? turn.until : now)
  }

  #hasWaitedTooLong(item: Item, now: number): boolean {
    const maxWaitMs = this.#policy?.maxWaitMs
    return maxWaitMs !== undefined && now - item.askedAt > maxWaitMs
  }
}

export function earliest(times: readonly (number | undefined)[]): number | undefined {
  let first: number | undefined
  for (const time of times) if (time !== undefined && (first === undefined || time < first)) first = time
  return first
}
