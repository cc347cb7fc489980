import type { RetryLimitPolicy } from '../../../core/limit/options.ts'
import type { Random } from '../../../core/random.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { RetryTurn } from '../../fleet/fleet-turns.ts'
import type { RetryLimiter } from '../../limiters.ts'
import { Fifo } from '../buffer/fifo.ts'
import type { Item } from '../lane/item.ts'
import { Hearing } from './pending-items.ts'
import { type Starts, StartWindow } from './retry-window.ts'
import { TimeHeap } from './time-heap.ts'

/** What the lane does when an item may not go on, or not at once. */
export interface RetryGate {
  /** The retry limit has no turn for it; `delay` means that it waits for one. */
  limited(item: Item, action: 'delay' | 'drop' | 'dead-letter'): void
  /** The retry limit gave it its turn, and that has come. */
  allowed(): void
  /** Its turn has come: from when on may it start, as far as the limit on all events is concerned? Undefined: now. */
  atDoor(item: Item, now: number): number | undefined | Promise<number | undefined>
  /** The limit on all events has refused it. */
  refused(item: Item, retryAt: number, now: number): void
  /** A limit that is shared has answered: there may be something to start. */
  lookSoon(): void
}

/** What a lane's retries go by. */
interface RetriesPolicy {
  readonly retryLimit: RetryLimitPolicy | undefined
  readonly retryLimiter: RetryLimiter | undefined
  readonly random: Random
  readonly clock: Clock
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
 * than it allows. A turn is reserved only shortly before it comes, so that a breaker that opens anew wastes few. Where a
 * limit is shared, an item may have to hear from the fleet between two of these.
 */
export class Retries {
  readonly #policy: RetriesPolicy
  readonly #gate: RetryGate
  readonly #window: StartWindow | undefined
  readonly #ahead: number
  readonly #backoff = new TimeHeap()
  readonly #asking = new Fifo<Item>()
  readonly #turns = new TimeHeap()
  readonly #ready = new Fifo<Item>()
  readonly #hearing = new Hearing()

  constructor(policy: RetriesPolicy, gate: RetryGate) {
    this.#policy = policy
    this.#gate = gate
    this.#window = policy.retryLimit && new StartWindow(policy.retryLimit)
    this.#ahead = Math.max(TURNS_AHEAD, this.#window?.most ?? 0)
  }

  get size(): number {
    return this.#backoff.size + this.#asking.size + this.#turns.size + this.#ready.size + this.#hearing.size
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
      this.#goToDoor(item, now)
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
    const lost = [...this.#ready.drain(), ...this.#turns.drain(), ...this.#hearing.drain()]
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
    const { retryLimiter } = this.#policy
    while (this.#asking.size > 0 && this.#reserved < this.#ahead) {
      const item = this.#asking.shift()!
      if (retryLimiter === undefined) this.#turns.add(item, now)
      else if (this.#hasWaitedTooLong(item, now)) this.#gate.limited(item, 'dead-letter')
      else this.#takeTurn(retryLimiter, item, now)
    }
  }

  get #reserved(): number {
    return this.#turns.size + this.#ready.size + this.#hearing.size
  }

  #takeTurn(limiter: RetryLimiter, item: Item, now: number): void {
    const turn = limiter.ask(now, this.#policy.random)
    if (turn.action !== 'pending') {
      this.#carryOut(item, turn, now)
      return
    }
    const isHeard = this.#hearing.add(item, () => turn.cancel())
    turn.whenDecided((decided, now) => {
      if (!isHeard()) return
      this.#carryOut(item, decided, now)
      this.#gate.lookSoon()
    })
  }

  #carryOut(item: Item, turn: RetryTurn, now: number): void {
    if (turn.action === 'drop' || turn.action === 'dead-letter') {
      this.#gate.limited(item, turn.action)
      return
    }
    if (turn.action === 'wait') this.#gate.limited(item, 'delay')
    this.#turns.add(item, turn.action === 'wait' ? turn.until : now)
  }

  #goToDoor(item: Item, now: number): void {
    if (this.#policy.retryLimiter !== undefined) this.#gate.allowed()
    const retryAt = this.#gate.atDoor(item, now)
    if (!(retryAt instanceof Promise)) {
      this.#pass(item, retryAt, now)
      return
    }
    const isHeard = this.#hearing.add(item, () => {})
    void retryAt.then(retryAt => {
      if (!isHeard()) return
      this.#pass(item, retryAt, this.#policy.clock.now())
      this.#gate.lookSoon()
    })
  }

  #pass(item: Item, retryAt: number | undefined, now: number): void {
    if (retryAt === undefined) this.#ready.push(item)
    else this.#gate.refused(item, retryAt, now)
  }

  #hasWaitedTooLong(item: Item, now: number): boolean {
    const maxWaitMs = this.#policy.retryLimit?.maxWaitMs
    return maxWaitMs !== undefined && now - item.askedAt > maxWaitMs
  }
}

export function earliest(times: readonly (number | undefined)[]): number | undefined {
  let first: number | undefined
  for (const time of times) if (time !== undefined && (first === undefined || time < first)) first = time
  return first
}
