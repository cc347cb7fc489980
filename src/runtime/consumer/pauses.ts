import type { Subscription } from '../../ports/broker.ts'
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

  has(why: PauseReason): boolean {
    return this.#reasons.has(why)
  }

  /** A consumer may be paused before it has subscribed. */
  attach(subscription: Subscription): void {
    this.#subscription = subscription
    if (this.any) subscription.pause()
  }

  /** For good, as the consumer closes: whatever comes and goes after that, it does not pull again. */
  detach(): void {
    this.#subscription?.pause()
    this.#subscription = undefined
  }

  add(why: PauseReason): void {
    if (this.#reasons.has(why)) return
    this.#reasons.add(why)
    if (this.#reasons.size === 1) this.#subscription?.pause()
    const { channel, name, observer } = this.#policy
    if (observer.consumerPaused) observe(observer, 'consumerPaused', { channel, name, why })
  }

  remove(why: PauseReason): void {
    if (!this.#reasons.delete(why) || this.#reasons.size > 0) return
    const { channel, name, observer } = this.#policy
    // Told first: resuming may hand over at once what is refused at once, and then the last word is that it paused.
    if (observer.consumerResumed) observe(observer, 'consumerResumed', { channel, name })
    this.#subscription?.resume()
  }
}
