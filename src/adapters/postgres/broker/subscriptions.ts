import { StallReporter } from '../../../adapter-kit/delivery/stalls.ts'
import { PendingWork } from '../../../adapter-kit/pending-work.ts'
import { PollLoop } from '../../../adapter-kit/poll-loop.ts'
import type { AttemptRecord } from '../../../core/dead-letter/letter.ts'
import {
  BrokerClosedError,
  type Delivery,
  DeliveryLostError,
  type Settlement,
  type SubscribeOptions,
  type Subscription,
  type SubscriptionStatus,
} from '../../../ports/broker.ts'
import { yieldToEventLoop } from '../../../ports/clock.ts'
import type { ListenConnection } from '../connection/listen-connection.ts'
import type { Notifier } from '../connection/notifier.ts'
import { requireAnother, requireSize } from '../connection/pool.ts'
import { storableText } from '../connection/values.ts'
import type { PostgresSettings } from '../options.ts'
import { NOTIFY_CHANNEL } from '../schema/functions.ts'
import { Claimer, type ClaimScope } from './claim.ts'
import { ClaimedRows } from './claimed-rows.ts'
import { OutboxDelivery } from './delivery.ts'
import { adoptRows, registerHandler } from './handlers.ts'
import { ProcessLease } from './lease.ts'
import { Retention } from './retention.ts'
import { Settler } from './settle.ts'

/** The most rows of one claim. More would only wait in memory. */
const MAX_CLAIMED = 1_000
const MIN_POLL_MS = 20

/**
 * The subscriptions of an outbox in this process, and the parts that they share: the lease, the LISTEN connection and
 * timers.
 */
export class Subscriptions {
  readonly claimer: Claimer
  readonly settler: Settler
  readonly #settings: PostgresSettings
  readonly #notifier: Notifier
  readonly #lease: ProcessLease
  readonly #claimed: ClaimedRows
  readonly #connection: ListenConnection
  readonly #rounds: PollLoop
  readonly #retention: Retention
  readonly #open = new Set<OutboxSubscription>()
  #maintaining: Promise<void> | undefined
  #isClosed = false

  constructor(settings: PostgresSettings, notifier: Notifier, connection: ListenConnection) {
    const { clock, leaseMs, maxPollMs } = settings
    this.#settings = settings
    this.#notifier = notifier
    this.#lease = new ProcessLease(settings)
    this.#claimed = new ClaimedRows((held, claims) => this.#lease.giveBackOthers(held, claims))
    this.#connection = connection
    this.#retention = new Retention(settings)
    this.#rounds = new PollLoop({
      clock,
      minPollMs: MIN_POLL_MS,
      maxPollMs,
      heartbeatMs: leaseMs / 3,
      poll: () => this.wake(),
      heartbeat: () => this.#heartbeat(),
    })
    this.claimer = new Claimer(settings, this.#lease, this.#claimed, this.#rounds)
    this.settler = new Settler(settings, this.#lease, this.#claimed, this.#rounds)
  }

  async subscribe(
    { channel, handler, ordering, prefetch }: SubscribeOptions,
    deliver: (delivery: Delivery) => void,
    onStatus?: (status: SubscriptionStatus) => void,
  ): Promise<OutboxSubscription> {
    const { pool, name, generation } = this.#settings
    const scope = {
      channel: storableText(channel),
      handler: storableText(handler),
      isByKey: ordering === 'by-key',
      generation,
    }
    requireSize(pool, name)
    await registerHandler(pool, scope)
    // Heartbeats try again what fails here, and polling works without LISTEN.
    await this.#retention.createPartitions().catch(this.reportError)
    await this.#lease.owner()
    await this.#listen().then(() => this.#requireAnother(), this.reportError)
    const subscription = new OutboxSubscription(this, scope, prefetch, deliver, new StallReporter(onStatus))
    if (this.#isClosed) throw new BrokerClosedError(name)
    this.#open.add(subscription)
    this.#rounds.start()
    // By the next turn the caller has the subscription. An earlier delivery could not be settled.
    void yieldToEventLoop().then(() => subscription.start())
    return subscription
  }

  /** Wakes all subscriptions, those of a channel or those of one handler, because there may be something to claim. */
  wake(channel?: string, handler?: string): void {
    for (const subscription of this.#open) {
      const { scope } = subscription
      if ((channel ?? scope.channel) === scope.channel && (handler ?? scope.handler) === scope.handler)
        subscription.wake()
    }
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all(Array.from(this.#open, subscription => subscription.close()))
    await this.#rounds.end()
    await this.#maintaining
    await this.#connection.stop(NOTIFY_CHANNEL)
    await this.#lease.release()
  }

  /** Called when a claim found nothing. */
  async ranDry(scope: ClaimScope): Promise<void> {
    await this.claimer.lookAhead(scope)
    await this.#adopt(scope.channel)
  }

  /** Releases the open deliveries of a subscription that closes, and forgets the subscription. Never rejects. */
  async leave(subscription: OutboxSubscription, deliveries: readonly OutboxDelivery[]): Promise<void> {
    await Promise.all(deliveries.map(delivery => this.settler.giveBack(delivery)))
    if (deliveries.length > 0) {
      const { channel } = subscription.scope
      this.wake(channel)
      await this.#notifier.notify(channel).catch(() => {})
    }
    this.#open.delete(subscription)
    if (this.#open.size === 0) this.#rounds.stop()
  }

  /** Reports an error that no caller waits for. */
  get reportError(): (error: unknown) => void {
    return this.#settings.onError
  }

  lostError(channel: string): DeliveryLostError {
    return new DeliveryLostError(this.#settings.name, channel)
  }

  #listen(): Promise<void> {
    return this.#connection.start(NOTIFY_CHANNEL, channel => this.wake(channel))
  }

  /** For a pool that does not report its size. */
  async #requireAnother(): Promise<void> {
    const { pool, name, clock } = this.#settings
    try {
      await requireAnother(pool, name, clock)
    } catch (error) {
      if (this.#open.size === 0) await this.#connection.stop(NOTIFY_CHANNEL)
      throw error
    }
  }

  async #heartbeat(): Promise<void> {
    await this.#lease.renew(this.#connection).catch(this.reportError)
    if (this.#open.size === 0) return
    this.#maintaining ??= this.#maintain().finally(() => {
      this.#maintaining = undefined
    })
  }

  /** Work that can wait, and that must not delay the next heartbeat. The next run makes up for a task that fails. */
  async #maintain(): Promise<void> {
    const tasks = [
      () => this.#listen(),
      () => this.#claimed.check(),
      async () => (await this.#lease.reclaim()) > 0 && this.wake(),
      async () => (await this.#lease.reclaimOrphans()) > 0 && this.wake(),
      () => this.#adoptAll(),
      () => this.#applyRetention(),
    ]
    for (const task of tasks) await Promise.resolve(task()).catch(this.reportError)
  }

  /** One subscription is enough to report it, because the retention is that of the whole outbox. */
  async #applyRetention(): Promise<void> {
    const { rows, partitions } = await this.#retention.apply()
    const [first] = this.#open
    if (rows + partitions > 0) first?.reportRemoved(rows, partitions)
  }

  /** Runs also while there are always rows to claim. */
  async #adoptAll(): Promise<void> {
    const channels = new Set(Array.from(this.#open, ({ scope }) => scope.channel))
    for (const channel of channels) await this.#adopt(channel)
  }

  /** Finds rows without a target: their transaction may have begun before the channel had a handler. */
  async #adopt(channel: string): Promise<void> {
    if (await adoptRows(this.#settings.pool, channel)) this.wake(channel)
  }
}

/** One of the consumers that share the work of a handler. It makes one claim at a time, for as many rows as it has room. */
class OutboxSubscription implements Subscription {
  readonly scope: ClaimScope
  readonly #shared: Subscriptions
  readonly #prefetch: number
  readonly #deliver: (delivery: Delivery) => void
  readonly #stalls: StallReporter
  /** Claims in a row that have failed. */
  #failures = 0
  readonly #open = new Set<OutboxDelivery>()
  #mode: 'starting' | 'running' | 'paused' | 'closed' = 'starting'
  /** Whether a claim may find something. A claim that got less than it asked for has found everything. */
  #mayHaveMore = true
  /** Claims whose deliveries are not delivered yet. */
  readonly #pulling = new Set<Promise<void>>()
  #isAsking = false
  /** Rows that are claimed and not delivered yet. */
  #arriving = 0
  #isPullingSoon = false
  /** Whether the last event that arrived alone began in the same turn. Then a claim may record the attempt of the next one. */
  #beginsAtOnce = false
  readonly #settling = new PendingWork()
  #closing: Promise<void> | undefined

  constructor(
    shared: Subscriptions,
    scope: ClaimScope,
    prefetch: number,
    deliver: (delivery: Delivery) => void,
    stalls: StallReporter,
  ) {
    this.#shared = shared
    this.scope = scope
    this.#prefetch = prefetch
    this.#deliver = deliver
    this.#stalls = stalls
  }

  reportRemoved(rows: number, partitions: number): void {
    this.#stalls.removed(rows, partitions)
  }

  /** The subscriber knows its subscription now, so deliveries may come. */
  start(): void {
    if (this.#mode === 'starting') this.resume()
  }

  wake(): void {
    this.#mayHaveMore = true
    this.#pull()
  }

  /** One promise for an attempt, because every event of the outbox pays for it. So does `settle`. */
  begin(delivery: Delivery, ended: readonly AttemptRecord[]): Promise<void> {
    if (!this.#holds(delivery)) return Promise.reject(this.#lostError())
    return this.#shared.settler.begin(delivery, ended).then(
      hasBegun => (hasBegun ? undefined : this.#lost(delivery)),
      (error: unknown) => this.#notBegun(delivery, error),
    )
  }

  settle(delivery: Delivery, settlement: Settlement): Promise<void> {
    if (!this.#holds(delivery)) return Promise.reject(this.#lostError())
    this.#open.delete(delivery)
    this.#settling.begin()
    return this.#shared.settler.settle(delivery, settlement).then(
      isSettled => this.#settled(delivery, settlement, isSettled),
      (error: unknown) => this.#notSettled(delivery, settlement, error),
    )
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

  #lost(delivery: OutboxDelivery): never {
    this.#shared.settler.forget(delivery)
    this.#open.delete(delivery)
    this.#pull()
    throw this.#lostError()
  }

  /** The consumer forgets the delivery. Nothing was tried, and it comes again. */
  async #notBegun(delivery: OutboxDelivery, error: unknown): Promise<never> {
    this.#open.delete(delivery)
    await this.#shared.settler.putOff(delivery)
    this.#pull()
    throw error
  }

  #settled(delivery: OutboxDelivery, settlement: Settlement, isSettled: boolean): void {
    const { channel, handler, isByKey } = this.scope
    this.#shared.settler.settled(delivery, settlement)
    this.#settling.end()
    this.#pullSoon()
    if (!isSettled) throw this.#lostError()
    if (isByKey) this.#shared.wake(channel, handler)
  }

  async #notSettled(delivery: OutboxDelivery, settlement: Settlement, error: unknown): Promise<never> {
    await this.#shared.settler.putOff(delivery, settlement)
    this.#settling.end()
    this.#pullSoon()
    throw error
  }

  #lostError(): DeliveryLostError {
    return this.#shared.lostError(this.scope.channel)
  }

  /** Claims once for everything that is settled in this turn. */
  #pullSoon(): void {
    if (this.#isPullingSoon) return
    this.#isPullingSoon = true
    process.nextTick(() => {
      this.#isPullingSoon = false
      this.#pull()
    })
  }

  #pull(): void {
    const room = this.#prefetch - this.#open.size - this.#settling.count - this.#arriving
    if (this.#mode !== 'running' || this.#isAsking || !this.#mayHaveMore || room <= 0) return
    const pulling = this.#claim(Math.min(room, MAX_CLAIMED)).finally(() => {
      this.#pulling.delete(pulling)
      this.#pull()
    })
    this.#pulling.add(pulling)
  }

  /** Never rejects, because the next poll tries again. */
  async #claim(limit: number): Promise<void> {
    this.#mayHaveMore = false
    this.#isAsking = true
    let arriving = 0
    const isIdle = this.#open.size + this.#settling.count + this.#arriving === 0
    const onFull = () => {
      arriving = limit
      this.#arriving += limit
      this.#isAsking = false
      this.#mayHaveMore = true
      this.#pull()
    }
    try {
      const { claimer } = this.#shared
      const deliveries = await claimer.claim(this.scope, limit, isIdle && this.#beginsAtOnce, onFull)
      this.#failures = 0
      this.#stalls.recovered('deliveries')
      for (const delivery of deliveries) {
        this.#open.add(delivery)
        // Deliveries that arrive while closing are given back with the others.
        if (!this.#isClosed()) this.#deliver(delivery)
      }
      const [first] = deliveries
      if (isIdle && first !== undefined) {
        this.#beginsAtOnce = first.hasStarted
        if (!first.hasStarted) await claimer.notBegunAtOnce(first)
      }
      if (arriving === 0 && deliveries.length === limit) this.#mayHaveMore = true
      else if (deliveries.length === 0) this.#shared.ranDry(this.scope).catch(this.#shared.reportError)
    } catch (error) {
      if (++this.#failures > 1) this.#stalls.stalled('deliveries', this, error as Error)
      this.#shared.reportError(error)
    }
    this.#arriving -= arriving
    if (arriving === 0) this.#isAsking = false
  }

  async #close(): Promise<void> {
    this.#mode = 'closed'
    await Promise.all(this.#pulling)
    await this.#settling.settled()
    const open = [...this.#open]
    this.#open.clear()
    await this.#shared.leave(this, open)
  }

  #isClosed(): boolean {
    return this.#mode === 'closed'
  }

  #holds(delivery: Delivery): delivery is OutboxDelivery {
    return delivery instanceof OutboxDelivery && this.#open.has(delivery)
  }
}
