import type { StallPlace, SubscriptionNews } from '../../ports/broker.ts'
import { observe } from '../observe.ts'
import type { ConsumerPolicy } from './consumer-options.ts'
import type { Pauses } from './pauses.ts'

/** What the broker cannot do for a consumer at the moment. */
export interface Stall {
  readonly place: StallPlace
  /** In the words of the broker, with the remedy where it knows one. */
  readonly problem: string
}

/** Keeps what a broker tells of its own troubles. While it takes no letters, the consumer pulls no more events. */
export class Stalls {
  readonly #policy: ConsumerPolicy
  readonly #pauses: Pauses
  readonly #goOn: () => void
  readonly #stalls = new Map<StallPlace, Stall>()

  /** `goOn`: the consumer may go on with what it has in hand. */
  constructor(policy: ConsumerPolicy, pauses: Pauses, goOn: () => void) {
    this.#policy = policy
    this.#pauses = pauses
    this.#goOn = goOn
  }

  /** Nothing while there is none, so that health stays as short as it was. */
  get all(): { readonly stalls?: readonly Stall[] } {
    return this.#stalls.size === 0 ? {} : { stalls: [...this.#stalls.values()] }
  }

  readonly hear = (news: SubscriptionNews): void => {
    const { channel, name, observer } = this.#policy
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
