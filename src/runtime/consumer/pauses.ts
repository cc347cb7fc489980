import type { StalledPart, Subscription, SubscriptionStatus } from '../../ports/broker.ts'
import type { Cancel, Clock } from '../../ports/clock.ts'
import type { PauseReason } from '../../ports/observer.ts'
import { observe } from '../observe.ts'
import type { ConsumerPolicy } from './consumer-options.ts'

/** Why a consumer does not pull at the moment. It pulls again when the last reason is gone. */
export class Pauses {
  readonly #policy: ConsumerPolicy
  readonly #reasons = new Set<PauseReason>()
  #subscription: Subscription | undefined

  constructor(policy: ConsumerPolicy) {
    this.#policy = policy
  }

  get reasons(): readonly PauseReason[] {
    return [...this.#reasons]
  }

  get any(): boolean {
    return this.#reasons.size > 0
  }

  has(reason: PauseReason): boolean {
    return this.#reasons.has(reason)
  }

  /** A consumer may be paused before it has subscribed. */
  attach(subscription: Subscription): void {
    this.#subscription = subscription
    if (this.any) subscription.pause()
  }

  /** The consumer closes. From now on no change of the reasons resumes the subscription. */
  detach(): void {
    this.#subscription?.pause()
    this.#subscription = undefined
  }

  add(reason: PauseReason): void {
    if (this.#reasons.has(reason)) return
    this.#reasons.add(reason)
    if (this.#reasons.size === 1) this.#subscription?.pause()
    const { channel, name, observer } = this.#policy
    if (observer.consumerPaused) observe(observer, 'consumerPaused', { channel, name, reason })
  }

  remove(reason: PauseReason): void {
    if (!this.#reasons.delete(reason) || this.#reasons.size > 0) return
    const { channel, name, observer } = this.#policy
    // Observed first. Resuming may deliver an event that pauses the consumer again, and that observation must come last.
    if (observer.consumerResumed) observe(observer, 'consumerResumed', { channel, name })
    this.#subscription?.resume()
  }
}

/** A part of the subscription that stalls now. */
export interface Stall {
  readonly place: StalledPart
  /** In the words of the broker, with the remedy where it knows one. */
  readonly problem: string
}

/**
 * Keeps the problems that a broker reports about itself. While it takes no letters, the consumer pulls no more events.
 */
export class Stalls {
  readonly #policy: ConsumerPolicy
  readonly #pauses: Pauses
  readonly #goOn: () => void
  readonly #stalls = new Map<StalledPart, Stall>()

  /** `goOn`: the consumer may continue with its open deliveries. */
  constructor(policy: ConsumerPolicy, pauses: Pauses, goOn: () => void) {
    this.#policy = policy
    this.#pauses = pauses
    this.#goOn = goOn
  }

  /** Nothing while there is none, so that health stays as short as it was. */
  get all(): { readonly stalls?: readonly Stall[] } {
    return this.#stalls.size === 0 ? {} : { stalls: [...this.#stalls.values()] }
  }

  readonly hear = (news: SubscriptionStatus): void => {
    const { channel, name, observer, broker } = this.#policy
    if (news.state === 'removed') {
      const { rows, partitions } = news
      if (observer.deliveredRemoved)
        observe(observer, 'deliveredRemoved', { broker: broker.name, rows, partitions })
      return
    }
    if (news.state === 'unreadable') {
      const { error } = news
      if (observer.letterWriteFailed) observe(observer, 'letterWriteFailed', { channel, name, error })
      return
    }
    const { place } = news
    if (news.state === 'stalled') {
      const { error } = news
      const isNew = !this.#stalls.has(place)
      this.#stalls.set(place, { place, problem: error.message })
      if (isNew && observer.subscriptionStalled)
        observe(observer, 'subscriptionStalled', { channel, name, place, error })
      if (place === 'letters') this.#pauses.add('store')
      return
    }
    if (!this.#stalls.delete(place)) return
    if (observer.subscriptionRecovered) observe(observer, 'subscriptionRecovered', { channel, name, place })
    if (place === 'letters') this.#pauses.remove('store')
    this.#goOn()
  }
}

/** The first wait before an unavailable ledger is probed again. It doubles up to the maximum. */
const FIRST_DELAY_MS = 1_000
const MAX_DELAY_MS = 30_000

/** When a ledger that does not answer is asked again. */
export class LedgerProbe {
  readonly #clock: Clock
  readonly #probe: () => void
  #cancel: Cancel | undefined
  #delayMs = FIRST_DELAY_MS

  constructor(clock: Clock, probe: () => void) {
    this.#clock = clock
    this.#probe = probe
  }

  /** Does nothing while the next probe is under way. */
  schedule(): void {
    if (this.#cancel !== undefined) return
    this.#cancel = this.#clock.schedule(this.#delayMs, () => {
      this.#cancel = undefined
      this.#probe()
    })
    this.#delayMs = Math.min(MAX_DELAY_MS, this.#delayMs * 2)
  }

  /** The ledger responded, or the consumer closed. */
  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#delayMs = FIRST_DELAY_MS
  }
}
