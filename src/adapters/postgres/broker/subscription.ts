import type { StallReporter } from '../../../adapter-kit/delivery/stalls.ts'
import type { AttemptRecord } from '../../../core/dead-letter/letter.ts'
import {
  type Delivery,
  DeliveryLostError,
  type Settlement,
  type Subscription,
} from '../../../ports/broker.ts'
import type { ClaimFor } from './claiming.ts'
import { OutboxDelivery } from './delivery.ts'

/** One claim takes so many rows at most: more would only wait in memory. */
const MOST_CLAIMED = 1_000

/** What a subscription needs of its broker. */
export interface Counter {
  /** Takes what is ready, at most so many. `onFull` may be told that there are so many before they can be handed over. */
  claim(claimFor: ClaimFor, limit: number, onFull: () => void): Promise<readonly OutboxDelivery[]>
  /** There was nothing more to claim. */
  ranDry(claimFor: ClaimFor): Promise<void>
  begin(delivery: OutboxDelivery, ended: readonly AttemptRecord[]): Promise<boolean>
  settle(delivery: OutboxDelivery, settlement: Settlement): Promise<boolean>
  /** Never rejects: what cannot be given back now is given back later. */
  giveBack(deliveries: readonly OutboxDelivery[]): Promise<void>
  /** The same for one whose settlement failed, or whose attempt was to begin and did not: it comes again after a while. */
  putOff(delivery: OutboxDelivery, settlement?: Settlement): Promise<void>
  /** Something of the handler's can be claimed that could not before. */
  wake(claimFor: ClaimFor): void
  left(subscription: OutboxSubscription): void
  /** Something went wrong that nobody waits for. */
  trouble(error: unknown): void
  lost(channel: string): DeliveryLostError
}

/** One of the consumers that share the work of a handler. It asks for one batch at a time, as many as it has room for. */
export class OutboxSubscription implements Subscription {
  readonly claimFor: ClaimFor
  readonly #prefetch: number
  readonly #counter: Counter
  readonly #deliver: (delivery: Delivery) => void
  readonly #stalls: StallReporter
  /** Claims in a row that have failed. */
  #failures = 0
  readonly #open = new Set<OutboxDelivery>()
  #mode: 'starting' | 'running' | 'paused' | 'closed' = 'starting'
  /** Whether a claim may find something; a claim that got less than it asked for has found everything. */
  #mayHaveMore = true
  /** Claims whose deliveries are not handed over yet. */
  readonly #pulling = new Set<Promise<void>>()
  #isAsking = false
  /** Claimed, and not handed over yet. */
  #arriving = 0
  #isPullingSoon = false
  #settling = 0
  #onAllSettled: (() => void) | undefined
  #closing: Promise<void> | undefined

  constructor(
    claimFor: ClaimFor,
    prefetch: number,
    counter: Counter,
    deliver: (delivery: Delivery) => void,
    stalls: StallReporter,
  ) {
    this.#stalls = stalls
    this.claimFor = claimFor
    this.#prefetch = prefetch
    this.#counter = counter
    this.#deliver = deliver
  }

  /** The subscriber knows of its subscription now, so that deliveries may come. */
  start(): void {
    if (this.#mode === 'starting') this.resume()
  }

  wake(): void {
    this.#mayHaveMore = true
    this.#pull()
  }

  async begin(delivery: Delivery, ended: readonly AttemptRecord[]): Promise<void> {
    if (!this.#holds(delivery)) throw this.#counter.lost(this.claimFor.channel)
    try {
      if (!(await this.#counter.begin(delivery, ended))) throw this.#counter.lost(this.claimFor.channel)
    } catch (error) {
      this.#open.delete(delivery)
      // Whoever is told so forgets the delivery: nothing was tried, and it comes again.
      if (!(error instanceof DeliveryLostError)) await this.#counter.putOff(delivery)
      this.#pull()
      throw error
    }
  }

  settle(delivery: Delivery, settlement: Settlement): Promise<void> {
    if (!this.#holds(delivery)) return Promise.reject(this.#counter.lost(this.claimFor.channel))
    this.#open.delete(delivery)
    return this.#settle(delivery, settlement)
  }

  pause(): void {
    if (this.#mode !== 'closed') this.#mode = 'paused'
  }

  resume(): void {
    if (this.#mode === 'closed') return
    this.#mode = 'running'
    this.wake()
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #settle(delivery: OutboxDelivery, settlement: Settlement): Promise<void> {
    this.#settling++
    try {
      if (!(await this.#counter.settle(delivery, settlement))) throw this.#counter.lost(delivery.channel)
      if (this.claimFor.isByKey) this.#counter.wake(this.claimFor)
    } catch (error) {
      if (!(error instanceof DeliveryLostError)) await this.#counter.putOff(delivery, settlement)
      throw error
    } finally {
      if (--this.#settling === 0) this.#onAllSettled?.()
      this.#pullSoon()
    }
  }

  /** Behind everything that is settled in this turn: a claim for each would be small and dear. */
  #pullSoon(): void {
    if (this.#isPullingSoon) return
    this.#isPullingSoon = true
    process.nextTick(() => {
      this.#isPullingSoon = false
      this.#pull()
    })
  }

  #pull(): void {
    const room = this.#prefetch - this.#open.size - this.#settling - this.#arriving
    if (this.#mode !== 'running' || this.#isAsking || !this.#mayHaveMore || room <= 0) return
    const pulling = this.#claim(Math.min(room, MOST_CLAIMED)).finally(() => {
      this.#pulling.delete(pulling)
      this.#pull()
    })
    this.#pulling.add(pulling)
  }

  /** Never rejects: what cannot be claimed now is tried again when somebody wakes this. */
  async #claim(limit: number): Promise<void> {
    this.#mayHaveMore = false
    this.#isAsking = true
    let arriving = 0
    const onFull = () => {
      arriving = limit
      this.#arriving += limit
      this.#isAsking = false
      this.#mayHaveMore = true
      this.#pull()
    }
    try {
      const deliveries = await this.#counter.claim(this.claimFor, limit, onFull)
      this.#failures = 0
      this.#stalls.recovered('deliveries')
      for (const delivery of deliveries) {
        this.#open.add(delivery)
        // What still comes while closing is given back with the rest.
        if (!this.#isClosed()) this.#deliver(delivery)
      }
      if (arriving === 0 && deliveries.length === limit) this.#mayHaveMore = true
      else if (deliveries.length === 0) this.#counter.ranDry(this.claimFor).catch(this.#tell)
    } catch (error) {
      if (++this.#failures > 1) this.#stalls.stalled('deliveries', this, error as Error)
      // The next poll wakes it.
      this.#tell(error)
    }
    this.#arriving -= arriving
    if (arriving === 0) this.#isAsking = false
  }

  async #close(): Promise<void> {
    this.#mode = 'closed'
    await Promise.all(this.#pulling)
    if (this.#settling > 0) await new Promise<void>(resolve => (this.#onAllSettled = resolve))
    const open = [...this.#open]
    this.#open.clear()
    await this.#counter.giveBack(open)
    this.#counter.left(this)
  }

  readonly #tell = (error: unknown): void => this.#counter.trouble(error)

  #isClosed(): boolean {
    return this.#mode === 'closed'
  }

  #holds(delivery: Delivery): delivery is OutboxDelivery {
    return delivery instanceof OutboxDelivery && this.#open.has(delivery)
  }
}
