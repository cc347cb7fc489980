import { AsyncLocalStorage } from 'node:async_hooks'
import type { LetterCaps } from '../../../core/dead-letter/caps.ts'
import { Fifo } from '../../../core/fifo.ts'
import type { Cancel } from '../../../ports/clock.ts'
import type { GiveUpReason } from '../../../ports/observer.ts'
import { observeGivingUp } from '../../attempt/after-failure.ts'
import { observe } from '../../observe.ts'
import { SetBackDetector } from '../../set-back-detector.ts'
import { Halves, mayBlameSome } from '../after/halves.ts'
import { earliest, Retries } from '../after/retries.ts'
import type { Starts } from '../after/retry-window.ts'
import type { UnsentItems } from '../after/unsent-items.ts'
import { observeDelivered, observeLateDelivery, recordFailure, settleWrite } from '../after/write-outcome.ts'
import { Batch, Fresh, LaneBuffer } from '../buffer/lane-buffer.ts'
import type { SinkHealth } from '../dispatcher-health.ts'
import type { GiveUp } from '../track/track-result.ts'
import type { Tracked } from '../track/tracked.ts'
import { Write, type WriteEnd } from '../write/write.ts'
import { HoldChecks, type ItemQueue } from './hold-checks.ts'
import { giveUpOn, Item } from './item.ts'
import { changeLane, type LanePolicy, type LaneSettings } from './lane-options.ts'

/** The longest sleep of the lane. Timers have an upper limit, and clock changes must be noticed. */
const MAX_SLEEP_MS = 3_600_000

/**
 * One sink's own way for events. A lane knows nothing of the others, so nothing that goes wrong in one can be felt in another.
 *
 *   offer ─▶ buffer ─▶ fresh ─┬─▶ breaker ─▶ batch ─▶ write ─▶ delivered
 *           retries ─ halves ─┘                         │
 *              ▲────────▲───────────────────────────────┴──▶ given up on
 *
 * A look is asked for whenever something may have changed, and happens once the code that is running now has ended, so
 * that what is tracked in one go is written in one go. Between two looks there is one timer at most. Looks happen in
 * the dispatcher's own async context: a sink must neither see nor keep alive the context of the code that tracked the
 * first event.
 */
export class Lane {
  readonly policy: LanePolicy
  readonly #buffer: LaneBuffer
  /** Waits for room in the buffer. */
  readonly #blocked = new Fifo<Item>()
  readonly #fresh: Fresh
  readonly #retries: Retries
  readonly #halves = new Halves()
  readonly #holdChecks: HoldChecks
  readonly #writes = new Set<Write>()
  /**
   * By the write that runs on after its timeout. An event must not be on two writes at once, so its retry waits for the end of
   * the first, at most `lateMs`; the lane goes on with other events meanwhile.
   */
  readonly #held = new Map<Write, readonly Item[]>()
  readonly #look: () => void
  readonly #unwatch: (() => void) | undefined
  #isLookAsked = false
  /** The breaker refused. The lane does not ask again before this time, unless the breaker changes. */
  #refusedUntil: number | undefined
  readonly #setBack: SetBackDetector
  #wakeAt: number | undefined
  #cancelWake: Cancel | undefined
  #isStopped = false
  #entered = 0
  #delivered = 0
  #gaveUp = 0
  #lastDeliveredAt: number | undefined

  constructor(policy: LanePolicy) {
    this.policy = policy
    this.#buffer = new LaneBuffer(policy.buffer)
    this.#fresh = new Fresh(policy.batch)
    const look = () => this.#lookSoon()
    const giveUp = (item: Item, why: GiveUp, mayDrop: boolean) => this.#giveUp(item, why, mayDrop)
    this.#retries = new Retries(policy, giveUp, look)
    this.#holdChecks = new HoldChecks(policy.clock, item => this.#handOver(item), look)
    this.#setBack = new SetBackDetector(policy.clock)
    const inOwnContext = AsyncLocalStorage.snapshot()
    this.#look = () => inOwnContext(() => this.#startWrites())
    this.#unwatch = policy.breaker?.watch(() => this.breakerChanged())
  }

  get name(): string {
    return this.policy.name
  }

  /** Goes on with new options. Writes in flight keep those that they began with. */
  change(settings: LaneSettings, caps: LetterCaps): void {
    changeLane(this.policy, settings, caps)
    this.#retries.limitChanged()
    this.#lookSoon()
  }

  /** Accepts or refuses an event, and reports the result to it. It never waits and never throws. */
  offer(tracked: Tracked, now: number): void {
    const item = new Item(tracked, now)
    if (this.#blocked.size === 0 && this.#buffer.hasRoom(tracked.bytes)) this.#enter(item)
    else this.#overflow(item)
  }

  /** Resolves when everything that is here now has settled, what waits for room included. */
  async flush(): Promise<void> {
    const last = this.#entered + this.#blocked.size
    for (let areAllIn = false; !areAllIn; ) {
      // Callers that wait for room may be refused instead.
      areAllIn = this.#entered >= last || this.#blocked.size === 0
      const flushed = this.#buffer.flush()
      this.#lookSoon()
      await flushed
    }
  }

  /** Ends all writes, and leaves everything that is here. Resolves when that is durable, or cannot be. */
  async abandon(reason: unknown, unsentItems: UnsentItems): Promise<void> {
    this.#unwatch?.()
    for (const item of this.#stop(reason)) {
      this.#gaveUp++
      const taken = unsentItems.take(item.tracked, this.name, giveUpOn(item, 'shutdown'))
      void taken.then(() => this.#leave(item))
    }
    const refused = this.#blocked.drain().map(({ tracked }) => {
      this.#gaveUp++
      return unsentItems.take(tracked, this.name, { reason: 'shutdown' }).then(() => tracked.answered())
    })
    await Promise.all([this.#buffer.flush(), ...refused])
  }

  /** The breaker may say yes now: it has changed, or a health check has ended and a probe's place may be free. */
  breakerChanged(): void {
    this.#refusedUntil = undefined
    this.#lookSoon()
  }

  report(): SinkHealth {
    const { breaker, faults } = this.policy
    return {
      breakerState: breaker?.state.mode ?? 'off',
      buffered: this.#buffer.events,
      bufferedBytes: this.#buffer.bytes,
      inFlight: [...this.#writes].flatMap(({ items }) => items).length,
      retrying: this.#retries.size + [...this.#held.values()].flat().length,
      blocked: this.#blocked.size,
      delivered: this.#delivered,
      gaveUp: this.#gaveUp,
      lastDeliveredAt: this.#lastDeliveredAt,
      userFunctions: faults.health(),
    }
  }

  #enter(item: Item): void {
    this.#entered++
    this.#buffer.enter(item)
    if (this.#refusedUntil !== undefined && this.policy.whenOpen === 'wait') this.#retries.ask(item)
    else this.#fresh.push(item)
    this.#lookSoon()
    item.tracked.answered()
  }

  #leave(item: Item): void {
    this.#buffer.leave(item)
    for (let next = this.#blocked.first; next !== undefined; next = this.#blocked.first) {
      if (!this.#buffer.hasRoom(next.tracked.bytes)) return
      this.#blocked.shift()
      this.#enter(next)
    }
  }

  #overflow(item: Item): void {
    const { overflow, maxEvents } = this.policy.buffer
    const { tracked } = item
    if (overflow === 'block' && this.#blocked.size < maxEvents) {
      this.#blocked.push(item)
      return
    }
    this.#gaveUp++
    if (overflow === 'drop-newest' && tracked.replay === 0) {
      tracked.dropped(this.name, { reason: 'buffer_full' })
      tracked.answered()
    } else void tracked.gaveUp(this.name, { reason: 'buffer_full' }).then(() => tracked.answered())
  }

  #lookSoon(): void {
    if (this.#isLookAsked || this.#isStopped) return
    this.#isLookAsked = true
    queueMicrotask(this.#look)
  }

  #startWrites(): void {
    this.#isLookAsked = false
    if (this.#isStopped) return
    const now = this.#now()
    while (this.#writes.size < this.policy.concurrency && this.#startNext(now)) {}
    this.#sleep(now)
  }

  /** The time. Everything here moves with a clock that was set back; what is added later waits for a time of the new clock. */
  #now(): number {
    const now = this.policy.clock.now()
    const movedMs = this.#setBack.look(now)
    if (movedMs < 0) {
      this.#refusedUntil = undefined
      this.#retries.move(movedMs)
      for (const item of [...this.#held.values()].flat()) item.notBefore += movedMs
    }
    return now
  }

  #startNext(now: number): boolean {
    if (this.#refusedUntil !== undefined && now < this.#refusedUntil) return false
    this.#refusedUntil = undefined
    const isFreshDue = this.#fresh.isDue(now, this.#buffer.isFlushing)
    if (this.#halves.size === 0 && !this.#retries.isDue(now) && !isFreshDue) return false
    const epoch = this.#admit(now)
    if (epoch === undefined) return false
    this.#retries.advance(now)
    const half = this.#halves.take()?.filter(item => this.#mayWrite(item, now, this.#halves))
    const { items, retries } = half ? { items: half, retries: undefined } : this.#takeBatch(now)
    const { breaker, budget } = this.policy
    if (items.length === 0) {
      breaker?.settle(epoch, 'ignored', now)
      return false
    }
    // Each event counts as one call, at its first attempt.
    if (budget !== undefined && half === undefined)
      for (const { failures } of items) if (failures === undefined) budget.recordCall(now)
    const write = new Write(this.policy, items, retries, epoch, now)
    this.#writes.add(write)
    void write.run().then(end => this.#ended(write, end))
    return true
  }

  /** The epoch of the attempt to come, or undefined when the breaker refuses it. */
  #admit(now: number): number | undefined {
    const { breaker, whenOpen } = this.policy
    if (breaker === undefined) return 0
    const admission = breaker.admit(now)
    const isAdmitted = typeof admission === 'number'
    // Half-open the probes decide, and they are soon over: nothing is given up on meanwhile.
    if (!isAdmitted && whenOpen === 'dead-letter' && breaker.state.mode !== 'half-open') {
      for (const item of [...this.#halves.drain(), ...this.#fresh.drain(), ...this.#retries.drainDue(now)])
        this.#giveUp(item, giveUpOn(item, 'breaker_open'))
      return undefined
    }
    // Events for a failing sink wait for a turn like a retry: all together they would overload it again.
    if (whenOpen === 'wait' && breaker.state.mode !== 'closed' && breaker.state.mode !== 'forced-closed')
      for (const item of this.#fresh.drain()) this.#retries.ask(item)
    if (isAdmitted) return admission
    this.#retries.loseTurns()
    this.#refusedUntil = admission.retryAt ?? Number.POSITIVE_INFINITY
    return undefined
  }

  #takeBatch(now: number): { readonly items: readonly Item[]; readonly retries: Starts | undefined } {
    const { name, observer, batch: limits } = this.policy
    const batch = new Batch(limits)
    const room = this.#retries.ready(now)
    for (let first = this.#retries.first; first && batch.items.length < room && batch.fits(first); ) {
      // An item whose time is over does not take the room of another.
      if (this.#mayWrite(this.#retries.take(), now, this.#retries)) batch.add(first)
      first = this.#retries.first
    }
    const count = batch.items.length
    const retries = this.#retries.started(count)
    if (count > 0 && observer.retryBatchReleased) observe(observer, 'retryBatchReleased', { name, count })
    for (let first = this.#fresh.first; first && batch.fits(first); first = this.#fresh.first)
      if (this.#mayWrite(this.#fresh.take(), now, this.#fresh)) batch.add(first)
    return { items: batch.items, retries }
  }

  /** An item that another process may have comes back to its queue when the store has said that it is ours. */
  #mayWrite(item: Item, now: number, queue: ItemQueue): boolean {
    const { expiresAt } = item.tracked.event
    if (expiresAt === undefined || now < expiresAt) return this.#holdChecks.admits(item, queue)
    this.#giveUp(item, giveUpOn(item, 'expired'))
    return false
  }

  #sleep(now: number): void {
    const at = this.#nextAt(now)
    if (at === this.#wakeAt) return
    this.#cancelWake?.()
    this.#wakeAt = at
    this.#cancelWake = undefined
    if (at === undefined) return
    const delayMs = Math.min(MAX_SLEEP_MS, Math.max(0, at - now))
    this.#cancelWake = this.policy.clock.schedule(delayMs, () => {
      this.#wakeAt = undefined
      this.#lookSoon()
    })
  }

  /** When there may be something to start, if nothing else happens. */
  #nextAt(now: number): number | undefined {
    if (this.#writes.size >= this.policy.concurrency) return undefined
    if (this.#refusedUntil !== undefined) return this.#refusedUntil
    if (this.#halves.size > 0) return now
    return earliest([this.#retries.nextAt(), this.#fresh.dueAt(now)])
  }

  #ended(write: Write, end: WriteEnd): void {
    // The write is gone if the lane has stopped and given up on its items.
    if (!this.#writes.delete(write)) return
    const { policy } = this
    const { items, startedAt } = write
    const now = this.#now()
    write.retries?.ended(now)
    const isLate = !end.ok && write.isLate
    const held: Item[] = []
    const failureOf = settleWrite(policy, write, end, now)
    if (!end.ok && !isLate && items.length > 1 && mayBlameSome(failureOf!(items[0]!)!.failure)) {
      this.#halves.split(items)
      this.#lookSoon()
      return
    }
    for (const item of items) {
      const failure = failureOf?.(item)
      if (failure === undefined) {
        observeDelivered(policy, item, startedAt, now)
        this.#deliver(item, now)
        continue
      }
      const next = recordFailure(policy, item, failure, write, now)
      if (next.do === 'give-up') this.#giveUp(item, giveUpOn(item, next.because))
      else if (isLate) {
        item.notBefore = next.at
        held.push(item)
      } else this.#retries.backOff(item, next.at)
    }
    if (held.length > 0) {
      this.#held.set(write, held)
      void this.#awaitLateEnd(write, held)
    }
    this.#lookSoon()
  }

  /** Waits for a write that outlived its timeout. Items that it accepted are delivered; the others may be retried. */
  async #awaitLateEnd(write: Write, held: readonly Item[]): Promise<void> {
    const end = await write.lateEnd()
    // The write is gone if the lane has stopped and given up on its items.
    if (!this.#held.delete(write)) return
    const refused = new Set(end?.ok ? end.rejected.map(({ index }) => write.items[index]) : write.items)
    for (const item of held) {
      if (refused.has(item)) this.#retries.backOff(item, item.notBefore)
      else {
        const now = this.policy.clock.now()
        observeLateDelivery(this.policy, item, now)
        this.#deliver(item, now)
      }
    }
    this.#lookSoon()
  }

  #deliver(item: Item, now: number): void {
    this.#delivered++
    this.#lastDeliveredAt = now
    item.tracked.delivered()
    this.#leave(item)
  }

  #handOver(item: Item): void {
    item.tracked.handedOver(this.name)
    this.#leave(item)
  }

  /** An event that is sent again is never dropped: its letter waits to hear how that went. */
  #giveUp(item: Item, giveUp: GiveUp, mayDrop = false): void {
    const { failures, tracked } = item
    this.#gaveUp++
    // An event whose time was over is given up on by its own wish, and by no policy.
    if (failures !== undefined && giveUp.reason !== 'expired') {
      const { attempts, failure } = failures
      observeGivingUp(this.policy, attempts, giveUp.reason as GiveUpReason, failure, tracked.event)
    }
    if (mayDrop && tracked.replay === 0) {
      tracked.dropped(this.name, giveUp)
      this.#leave(item)
    } else void tracked.gaveUp(this.name, giveUp).then(() => this.#leave(item))
  }

  /** Ends everything and hands over what was here. The lane ignores what writes under way still do. */
  #stop(reason: unknown): Item[] {
    const { breaker, clock } = this.policy
    this.#isStopped = true
    this.#cancelWake?.()
    const queues = [this.#halves, this.#fresh, this.#retries, this.#holdChecks]
    const items = queues.flatMap(queue => queue.drain())
    for (const [write, held] of this.#held) {
      items.push(...held)
      write.abort(reason)
    }
    this.#held.clear()
    for (const write of this.#writes) {
      items.push(...write.items)
      breaker?.settle(write.epoch, 'ignored', clock.now())
      write.abort(reason)
    }
    this.#writes.clear()
    return items
  }
}
