import { AsyncLocalStorage } from 'node:async_hooks'
import type { Cancel } from '../../../ports/clock.ts'
import { tellAllowed, tellLimited } from '../../attempt/retry-turn.ts'
import { observe } from '../../observe.ts'
import type { GiveUp } from '../after/give-up.ts'
import { HeldRetries } from '../after/held-retries.ts'
import { earliest, Retries, type RetryGate } from '../after/retries.ts'
import type { Starts } from '../after/retry-window.ts'
import { Aftermath, type AfterWrite, inTrouble } from '../after/write-failure.ts'
import { Batch, Fresh } from '../buffer/batch.ts'
import { Flight, type WriteEnd } from '../write/write.ts'
import type { Item } from './item.ts'
import type { LanePolicy } from './lane-policy.ts'

/** Timers cannot be set much longer than this; there is a look in between. */
const LONGEST_SLEEP_MS = 3_600_000

/** Where items leave the pump to. */
export interface LaneExits {
  delivered(item: Item, now: number): void
  gaveUp(item: Item, giveUp: GiveUp): void
  dropped(item: Item, giveUp: GiveUp): void
  /** Someone waits for what is here, so nothing waits for company. */
  readonly isFlushing: boolean
}

/**
 * Starts writes:
 *
 *   add ─▶ fresh ─┬─▶ breaker ─▶ batch ─▶ write ─▶ delivered
 *        retries ─┘                         │
 *           ▲───────────────────────────────┴──▶ given up on
 *
 * A look is asked for whenever something may have changed, and happens once the code that is running now has ended, so
 * that what is tracked in one go is written in one go. Between two looks there is one timer at most. Looks happen in
 * the dispatcher's own async context: a sink must neither see nor keep alive that of whoever tracked the first event.
 */
export class LanePump implements AfterWrite, RetryGate {
  readonly #policy: LanePolicy
  readonly #exits: LaneExits
  readonly #fresh: Fresh
  readonly #retries: Retries
  readonly #aftermath: Aftermath
  readonly #held: HeldRetries
  readonly #flights = new Set<Flight>()
  readonly #look: () => void
  #isLookAsked = false
  /** The breaker said no: until it changes, or this time has come, there is no use in asking again. */
  #refusedUntil: number | undefined
  #seenAt: number
  #wakeAt: number | undefined
  #cancelWake: Cancel | undefined
  #isStopped = false

  constructor(policy: LanePolicy, exits: LaneExits) {
    this.#policy = policy
    this.#exits = exits
    this.#fresh = new Fresh(policy.batch)
    this.#retries = new Retries(policy, this)
    this.#aftermath = new Aftermath(policy, this)
    this.#held = new HeldRetries(this.#aftermath, (item, at) => this.#retries.backOff(item, at))
    this.#seenAt = policy.clock.now()
    const inOwnContext = AsyncLocalStorage.snapshot()
    this.#look = () => inOwnContext(() => this.#pump())
  }

  get inFlight(): number {
    let items = 0
    for (const flight of this.#flights) items += flight.items.length
    return items
  }

  /** Items between two attempts, or behind an open breaker. */
  get retrying(): number {
    return this.#retries.size + this.#held.size
  }

  add(item: Item): void {
    if (this.#refusedUntil !== undefined && this.#policy.whenOpen === 'wait')
      this.#retries.ask(item, item.acceptedAt)
    else this.#fresh.push(item)
    this.lookSoon()
  }

  lookSoon(): void {
    if (this.#isLookAsked || this.#isStopped) return
    this.#isLookAsked = true
    queueMicrotask(this.#look)
  }

  /** The breaker may say yes now. */
  breakerChanged(): void {
    this.#refusedUntil = undefined
    this.lookSoon()
  }

  /** Ends everything and hands over what was here; what writes under way still do is not heard any more. */
  stop(reason: unknown): Item[] {
    this.#isStopped = true
    this.#cancelWake?.()
    const items = [...this.#fresh.drain(), ...this.#retries.drain(), ...this.#held.drain(reason)]
    for (const flight of this.#flights) {
      items.push(...flight.items)
      this.#policy.breaker?.settle(flight.epoch, 'ignored', this.#policy.clock.now())
      flight.abort(reason)
    }
    this.#flights.clear()
    return items
  }

  delivered(item: Item, now: number): void {
    this.#exits.delivered(item, now)
  }

  gaveUp(item: Item, giveUp: GiveUp): void {
    this.#exits.gaveUp(item, giveUp)
  }

  retry(item: Item, at: number): void {
    if (!this.#held.takes(item, at)) this.#retries.backOff(item, at)
  }

  limited(item: Item, action: 'delay' | 'drop' | 'dead-letter'): void {
    tellLimited(this.#policy, action)
    if (action === 'drop') this.#exits.dropped(item, inTrouble(item.trouble, 'retry_limited'))
    else if (action === 'dead-letter') this.#exits.gaveUp(item, inTrouble(item.trouble, 'retry_limited'))
  }

  allowed(): void {
    tellAllowed(this.#policy)
  }

  /** A retry is asked for at the door. What only waited behind the breaker was let in there and is no retry yet. */
  atDoor(item: Item, now: number): number | undefined | Promise<number | undefined> {
    return item.trouble === undefined ? undefined : this.#policy.door.refuses(item.tracked.event, now)
  }

  refused(item: Item, retryAt: number, now: number): void {
    const { door, name, observer } = this.#policy
    if (observer.rateLimited) observe(observer, 'rateLimited', { name, retryAt })
    this.#exits.gaveUp(item, { ...inTrouble(item.trouble, 'rate_limited'), ...door.giveUp(now) })
  }

  #pump(): void {
    this.#isLookAsked = false
    if (this.#isStopped) return
    const now = this.#policy.clock.now()
    if (now < this.#seenAt) this.#retries.move(now - this.#seenAt)
    this.#seenAt = now
    while (this.#flights.size < this.#policy.concurrency && this.#startNext(now)) {}
    this.#sleep(now)
  }

  #startNext(now: number): boolean {
    if (this.#refusedUntil !== undefined && now < this.#refusedUntil) return false
    this.#refusedUntil = undefined
    if (!this.#retries.isDue(now) && !this.#isFreshDue(now)) return false
    const epoch = this.#admit(now)
    if (epoch === undefined) return false
    this.#retries.advance(now)
    const { items, retries } = this.#takeBatch(now)
    if (items.length === 0) {
      this.#policy.breaker?.settle(epoch, 'ignored', now)
      return false
    }
    this.#countCalls(items, now)
    const flight = new Flight(this.#policy, { items, retries, epoch, startedAt: now })
    this.#flights.add(flight)
    void flight.write().then(end => this.#ended(flight, end))
    return true
  }

  /** Each event counts as one call, at its first attempt. */
  #countCalls(items: readonly Item[], now: number): void {
    const { budget } = this.#policy
    if (budget === undefined) return
    for (const { trouble } of items) if (trouble === undefined) budget.recordCall(now)
  }

  #isFreshDue(now: number): boolean {
    const dueAt = this.#fresh.dueAt(now)
    return dueAt !== undefined && (dueAt <= now || this.#exits.isFlushing)
  }

  /** The epoch of the attempt to come, or undefined when the breaker refuses it. */
  #admit(now: number): number | undefined {
    const { breaker, whenOpen } = this.#policy
    if (breaker === undefined) return 0
    const admission = breaker.admit(now)
    const isAdmitted = typeof admission === 'number'
    // Half-open the probes decide, and they are soon over: nothing is given up on meanwhile.
    if (!isAdmitted && whenOpen === 'dead-letter' && breaker.state.mode !== 'half-open') {
      this.#giveUpDue(now)
      return undefined
    }
    // What meets a sick sink waits for a turn like a retry: all at once it would knock it over again.
    if (whenOpen === 'wait' && breaker.state.mode !== 'closed' && breaker.state.mode !== 'forced-closed')
      for (const item of this.#fresh.drain()) this.#retries.ask(item, now)
    if (isAdmitted) return admission
    this.#retries.loseTurns()
    this.#refusedUntil = admission.retryAt ?? Number.POSITIVE_INFINITY
    return undefined
  }

  #giveUpDue(now: number): void {
    for (const item of [...this.#fresh.drain(), ...this.#retries.drainDue(now)])
      this.#exits.gaveUp(item, inTrouble(item.trouble, 'breaker_open'))
  }

  #takeBatch(now: number): { readonly items: readonly Item[]; readonly retries: Starts | undefined } {
    const batch = new Batch(this.#policy.batch)
    const room = this.#retries.ready(now)
    for (let first = this.#retries.first; first && batch.items.length < room && batch.fits(first); ) {
      // One whose time is over takes nobody's room.
      if (this.#isInTime(this.#retries.take(), now)) batch.add(first)
      first = this.#retries.first
    }
    const retries = this.#retries.started(batch.items.length)
    if (batch.items.length > 0) this.#tellReleased(batch.items.length)
    for (let first = this.#fresh.first; first && batch.fits(first); first = this.#fresh.first)
      if (this.#isInTime(this.#fresh.take(), now)) batch.add(first)
    return { items: batch.items, retries }
  }

  #tellReleased(count: number): void {
    const { name, observer } = this.#policy
    if (observer.retryBatchReleased) observe(observer, 'retryBatchReleased', { name, count })
  }

  #isInTime(item: Item, now: number): boolean {
    const { expiresAt } = item.tracked.event
    if (expiresAt === undefined || now < expiresAt) return true
    this.#exits.gaveUp(item, inTrouble(item.trouble, 'expired'))
    return false
  }

  #ended(flight: Flight, end: WriteEnd): void {
    // Not there any more: the lane has stopped and given up on its items.
    if (!this.#flights.delete(flight)) return
    const now = this.#policy.clock.now()
    flight.retries?.ended(now)
    const settle = () => this.#aftermath.settle(flight, end, now)
    if (end.ok || !flight.isLate) settle()
    else
      this.#held.settle(
        flight,
        settle,
        () => this.#policy.clock.now(),
        () => this.lookSoon(),
      )
    this.lookSoon()
  }

  #sleep(now: number): void {
    const at = this.#nextAt(now)
    if (at === this.#wakeAt) return
    this.#cancelWake?.()
    this.#wakeAt = at
    this.#cancelWake = undefined
    if (at === undefined) return
    const delayMs = Math.min(LONGEST_SLEEP_MS, Math.max(0, at - now))
    this.#cancelWake = this.#policy.clock.schedule(delayMs, () => {
      this.#wakeAt = undefined
      this.lookSoon()
    })
  }

  /** When there may be something to start, if nothing else happens. */
  #nextAt(now: number): number | undefined {
    if (this.#flights.size >= this.#policy.concurrency) return undefined
    if (this.#refusedUntil !== undefined) return this.#refusedUntil
    return earliest([this.#retries.nextAt(), this.#fresh.dueAt(now)])
  }
}
