import { Fifo } from '../../../core/fifo.ts'
import { Heap } from '../../../core/heap.ts'
import { type Cancel, monotonicNow } from '../../../ports/clock.ts'
import { observeRetryAllowed, observeRetryLimited } from '../../attempt/after-failure.ts'
import type { RetryLimiter } from '../../limiters.ts'
import { observe } from '../../observe.ts'
import type { RetryTurn } from '../../shared-limit/fleet-turns.ts'
import { giveUpOn, type Item } from '../lane/item.ts'
import type { LanePolicy } from '../lane/lane-options.ts'
import type { GiveUp } from '../track/track-result.ts'
import { type Starts, StartWindow } from './retry-window.ts'

/** The greatest number of turns to reserve in advance. Reserved turns are lost when the breaker opens. */
const TURNS_AHEAD = 100

/**
 * The queues of events that wait for a retry, and of events that waited behind an open breaker:
 *
 *   backoff ──its time is over──▶ asking ──it has a turn──▶ turns ──the turn has come──▶ ready ──▶ a batch
 *                       held ───────▲
 *
 * The retry limit counts events, not batches: however they are put together, no window of time contains more
 * starts than the limit allows. A turn is reserved shortly before it comes, because reserved turns are lost when the
 * breaker opens. With a shared limit, an item may also wait for the answer of the fleet.
 */
export class Retries {
  readonly #policy: LanePolicy
  readonly #giveUp: (item: Item, giveUp: GiveUp, mayDrop: boolean) => void
  readonly #changed: () => void
  #window: StartWindow | undefined
  #ahead = TURNS_AHEAD
  readonly #backoff = new TimeHeap()
  readonly #asking = new Fifo<Item>()
  readonly #turns = new TimeHeap()
  readonly #ready = new Fifo<Item>()
  /** Waits for the answer of a shared limit, which can be cancelled. */
  readonly #pending = new Map<Item, Cancel>()

  /** `changed`: a shared limit has answered, and there may be something to start. */
  constructor(
    policy: LanePolicy,
    giveUp: (item: Item, giveUp: GiveUp, mayDrop: boolean) => void,
    changed: () => void,
  ) {
    this.#policy = policy
    this.#giveUp = giveUp
    this.#changed = changed
    this.limitChanged()
  }

  /** The policy has another retry limit: its window starts empty. */
  limitChanged(): void {
    const { retryLimit } = this.#policy
    this.#window = retryLimit && new StartWindow(retryLimit)
    this.#ahead = Math.max(TURNS_AHEAD, this.#window?.most ?? 0)
  }

  get size(): number {
    return this.#backoff.size + this.#asking.size + this.#turns.size + this.#ready.size + this.#pending.size
  }

  backOff(item: Item, until: number): void {
    this.#backoff.add(item, until)
  }

  /** Waits for nothing but a turn. */
  ask(item: Item): void {
    item.askedAt = monotonicNow(this.#policy.clock)
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
      this.ask(item)
    this.#takeTurns(now)
    for (let item = this.#turns.takeDue(now); item !== undefined; item = this.#turns.takeDue(now))
      this.#askEntryLimit(item, now)
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

  /** The item still has its turn. */
  putBack(item: Item): void {
    this.#ready.putBack([item])
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

  /** Items that have a turn now cannot use it, and ask again later. */
  loseTurns(): void {
    const lost = [...this.#ready.drain(), ...this.#turns.drain(), ...this.#pending.keys()]
    for (const cancel of this.#pending.values()) cancel()
    this.#pending.clear()
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
      else if (this.#hasWaitedTooLong(item)) this.#applyTurn(item, { action: 'dead-letter' }, now)
      else this.#takeTurn(retryLimiter, item, now)
    }
  }

  get #reserved(): number {
    return this.#turns.size + this.#ready.size + this.#pending.size
  }

  #takeTurn(limiter: RetryLimiter, item: Item, now: number): void {
    const turn = limiter.ask(now, this.#policy.random)
    if (turn.action !== 'pending') {
      this.#applyTurn(item, turn, now)
      return
    }
    const isStillPending = this.#await(item, () => turn.cancel())
    turn.whenDecided((decided, now) => {
      if (!isStillPending()) return
      this.#applyTurn(item, decided, now)
      this.#changed()
    })
  }

  #applyTurn(item: Item, turn: RetryTurn, now: number): void {
    if (turn.action !== 'go') observeRetryLimited(this.#policy, turn.action)
    if (turn.action === 'drop' || turn.action === 'dead-letter')
      this.#giveUp(item, giveUpOn(item, 'retry_limited'), turn.action === 'drop')
    else this.#turns.add(item, turn.action === 'wait' ? turn.until : now)
  }

  /** The limit on all events counts retries too. An item that only waited behind the breaker is not a retry yet. */
  #askEntryLimit(item: Item, now: number): void {
    const { retryLimiter, entryLimit, clock } = this.#policy
    if (retryLimiter !== undefined) observeRetryAllowed(this.#policy)
    const retryAt = item.failures === undefined ? undefined : entryLimit.refuses(item.tracked.event, now)
    if (!(retryAt instanceof Promise)) {
      this.#enter(item, retryAt, now)
      return
    }
    const isStillPending = this.#await(item, () => {})
    void retryAt.then(retryAt => {
      if (!isStillPending()) return
      this.#enter(item, retryAt, clock.now())
      this.#changed()
    })
  }

  #enter(item: Item, retryAt: number | undefined, now: number): void {
    if (retryAt === undefined) {
      this.#ready.push(item)
      return
    }
    const { entryLimit, name, observer } = this.#policy
    if (observer.rateLimited) observe(observer, 'rateLimited', { name, retryAt })
    this.#giveUp(item, { ...giveUpOn(item, 'rate_limited'), ...entryLimit.giveUp(now) }, false)
  }

  /** The returned function takes the item out again. It answers false when the item is not here any more: the answer came too late. */
  #await(item: Item, cancel: Cancel): () => boolean {
    this.#pending.set(item, cancel)
    return () => this.#pending.get(item) === cancel && this.#pending.delete(item)
  }

  #hasWaitedTooLong({ askedAt }: Item): boolean {
    const { clock, retryLimit } = this.#policy
    return retryLimit?.maxWaitMs !== undefined && monotonicNow(clock) - askedAt > retryLimit.maxWaitMs
  }
}

export function earliest(times: readonly (number | undefined)[]): number | undefined {
  let first: number | undefined
  for (const time of times) if (time !== undefined && (first === undefined || time < first)) first = time
  return first
}

/** Items by the time they wait for, those of the same time in the order they came. */
export class TimeHeap {
  readonly #heap = new Heap<Item>(isBefore)
  #order = 0

  get size(): number {
    return this.#heap.size
  }

  /** The earliest time. */
  get nextAt(): number | undefined {
    return this.#heap.first?.notBefore
  }

  add(item: Item, notBefore: number): void {
    item.notBefore = notBefore
    item.order = this.#order++
    this.#heap.push(item)
  }

  takeDue(now: number): Item | undefined {
    const { first } = this.#heap
    return first === undefined || first.notBefore > now ? undefined : this.#heap.shift()
  }

  /** Takes everything out, the earliest first. */
  drain(): Item[] {
    const items: Item[] = []
    for (let item = this.#heap.shift(); item !== undefined; item = this.#heap.shift()) items.push(item)
    return items
  }

  /** Moves all times; their order stays, and with it everyone's place. */
  move(ms: number): void {
    for (const item of this.#heap) item.notBefore += ms
  }
}

function isBefore(a: Item, b: Item): boolean {
  return a.notBefore < b.notBefore || (a.notBefore === b.notBefore && a.order < b.order)
}
