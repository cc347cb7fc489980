import type { GiveUpReason } from '../../../ports/observer.ts'
import { tellGaveUp } from '../../attempt/after-failure.ts'
import type { Breaker } from '../../breaker.ts'
import type { RetryLimiter } from '../../limiters.ts'
import type { GiveUp } from '../after/give-up.ts'
import type { Leftovers } from '../after/leftovers.ts'
import { inTrouble } from '../after/write-failure.ts'
import { Fifo } from '../buffer/fifo.ts'
import { LaneBuffer } from '../buffer/lane-buffer.ts'
import type { SinkHealth } from '../dispatcher-health.ts'
import type { Tracked } from '../track/tracked.ts'
import { Item } from './item.ts'
import type { LanePolicy } from './lane-policy.ts'
import { type LaneExits, LanePump } from './lane-pump.ts'

const GAVE_UP: ReadonlySet<string> = new Set<GiveUpReason>([
  'permanent',
  'attempts_exhausted',
  'elapsed',
  'retry_budget',
  'retry_limited',
  'rate_limited',
  'breaker_open',
])

/**
 * One sink's own way for events: a bounded buffer, and the pump that writes from it. A lane knows nothing of the
 * others, so nothing that goes wrong in one can be felt in another.
 */
export class Lane implements LaneExits {
  readonly policy: LanePolicy
  readonly #buffer: LaneBuffer
  readonly #pump: LanePump
  /** Waits for room in the buffer. */
  readonly #blocked = new Fifo<Item>()
  readonly #unwatch: (() => void) | undefined
  #entered = 0
  #delivered = 0
  #gaveUp = 0
  #lastDeliveredAt: number | undefined

  constructor(policy: LanePolicy) {
    this.policy = policy
    this.#buffer = new LaneBuffer(policy.buffer)
    this.#pump = new LanePump(policy, this)
    this.#unwatch = policy.breaker?.watch(() => this.#pump.breakerChanged())
  }

  get name(): string {
    return this.policy.name
  }

  get breaker(): Breaker | undefined {
    return this.policy.breaker
  }

  get limiter(): RetryLimiter | undefined {
    return this.policy.retryLimiter
  }

  get isFlushing(): boolean {
    return this.#buffer.isFlushing
  }

  /** Takes an event, or refuses it for good; the event is told which. Never waits and never throws. */
  offer(tracked: Tracked, now: number): void {
    const item = new Item(tracked, now)
    if (this.#blocked.size === 0 && this.#buffer.hasRoom(tracked.bytes)) this.#enter(item)
    else this.#overflow(item)
  }

  /** Resolves when everything that is here now has settled, what waits for room included. */
  async flush(): Promise<void> {
    const last = this.#entered + this.#blocked.size
    for (let areAllIn = false; !areAllIn; ) {
      // Those who wait for room may be turned away instead.
      areAllIn = this.#entered >= last || this.#blocked.size === 0
      const flushed = this.#buffer.flush()
      this.#pump.lookSoon()
      await flushed
    }
  }

  /** Leaves everything that is here. Resolves when that is durable, or cannot be. */
  async abandon(reason: unknown, leftovers: Leftovers): Promise<void> {
    this.#unwatch?.()
    for (const item of this.#pump.stop(reason)) {
      this.#gaveUp++
      const taken = leftovers.take(item.tracked, this.name, inTrouble(item.trouble, 'shutdown'))
      void taken.then(() => this.#leave(item))
    }
    const refused = this.#blocked.drain().map(({ tracked }) => {
      this.#gaveUp++
      return leftovers.take(tracked, this.name, { reason: 'shutdown' }).then(() => tracked.answered())
    })
    await Promise.all([this.#buffer.flush(), ...refused])
  }

  /** A health check has ended, so a probe's place may be free. */
  checked(): void {
    this.#pump.breakerChanged()
  }

  delivered(item: Item, now: number): void {
    this.#delivered++
    this.#lastDeliveredAt = now
    item.tracked.delivered()
    this.#leave(item)
  }

  gaveUp(item: Item, giveUp: GiveUp): void {
    this.#tellGaveUp(item, giveUp)
    void item.tracked.gaveUp(this.name, giveUp).then(() => this.#leave(item))
  }

  /** Unless it is sent again: its letter waits to hear how that went. */
  dropped(item: Item, giveUp: GiveUp): void {
    if (item.tracked.replay > 0) {
      this.gaveUp(item, giveUp)
      return
    }
    this.#tellGaveUp(item, giveUp)
    item.tracked.dropped(this.name, giveUp)
    this.#leave(item)
  }

  report(): SinkHealth {
    const { breaker, faults } = this.policy
    return {
      breakerState: breaker?.state.mode ?? 'off',
      buffered: this.#buffer.events,
      bufferedBytes: this.#buffer.bytes,
      inFlight: this.#pump.inFlight,
      retrying: this.#pump.retrying,
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
    this.#pump.add(item)
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
    if (overflow === 'block' && this.#blocked.size < maxEvents) this.#blocked.push(item)
    else if (overflow === 'drop-newest' && item.tracked.replay === 0) {
      this.#gaveUp++
      item.tracked.dropped(this.name, { reason: 'buffer_full' })
      item.tracked.answered()
    } else this.#refuse(item)
  }

  #refuse({ tracked }: Item): void {
    this.#gaveUp++
    void tracked.gaveUp(this.name, { reason: 'buffer_full' }).then(() => tracked.answered())
  }

  #tellGaveUp({ trouble }: Item, { reason }: GiveUp): void {
    this.#gaveUp++
    if (trouble === undefined || !GAVE_UP.has(reason)) return
    tellGaveUp(this.policy, trouble.attempts, reason as GiveUpReason, trouble.failure)
  }
}
