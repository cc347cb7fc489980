import { StallReporter } from '../../../adapter-kit/delivery/stalls.ts'
import type { AttemptRecord } from '../../../core/dead-letter/letter.ts'
import {
  BrokerClosedError,
  type Delivery,
  DeliveryLostError,
  type Settlement,
  type SubscriptionNews,
} from '../../../ports/broker.ts'
import { Line } from '../connection/listen-connection.ts'
import type { Notices } from '../connection/notifier.ts'
import { requireAnother, requireSize } from '../connection/pool-size.ts'
import { LetterTable } from '../letters/letter-table.ts'
import type { PostgresSettings } from '../options.ts'
import { adopt, enterHandler } from './channels.ts'
import { Claimer } from './claimer.ts'
import type { ClaimFor } from './claiming.ts'
import type { OutboxDelivery } from './delivery.ts'
import { Holdings } from './holdings.ts'
import { Owner } from './owner.ts'
import { Past } from './past.ts'
import { Rounds } from './rounds.ts'
import { Settler } from './settler.ts'
import { Strays } from './strays.ts'
import { type Counter, OutboxSubscription } from './subscription.ts'

/** The consuming side of an outbox: its subscriptions, and what they have in common. */
export class Desk implements Counter {
  readonly #settings: PostgresSettings
  readonly #notices: Notices
  readonly #owner: Owner
  readonly #holdings: Holdings
  readonly #claimer: Claimer
  readonly #settler: Settler
  readonly #line: Line
  readonly #rounds: Rounds
  readonly #past: Past
  readonly #strays: Strays
  readonly #subscriptions = new Set<OutboxSubscription>()
  #isClosed = false

  constructor(settings: PostgresSettings, notices: Notices) {
    const { pool, name, clock, codec, leaseMs, maxPollMs, maxLetters, delivered, listen } = settings
    this.#settings = settings
    this.#notices = notices
    const owner = new Owner(pool, leaseMs, clock)
    const holdings = new Holdings((held, claims) => owner.giveBackOthers(held, claims))
    const letters = new LetterTable(name, codec.letters, maxLetters)
    const rounds = new Rounds({
      clock,
      maxPollMs,
      beatMs: leaseMs / 3,
      poll: () => this.#wakeAll(),
      beat: () => owner.beat(this.#line).catch(this.#tell),
      tend: () => this.#tend(),
    })
    const wakeIn = (delayMs: number) => rounds.wakeIn(delayMs)
    this.#past = new Past(settings)
    this.#strays = new Strays(pool)
    this.#owner = owner
    this.#holdings = holdings
    this.#rounds = rounds
    this.#claimer = new Claimer({ pool, owner, holdings, broker: name, codec: codec.events, wakeIn })
    this.#settler = new Settler({ pool, owner, holdings, letters, clock, delivered })
    this.#line = new Line({ pool, listen, tell: channel => this.wakeChannel(channel) })
  }

  async subscribe(
    claimFor: ClaimFor,
    prefetch: number,
    deliver: (delivery: Delivery) => void,
    tell?: (news: SubscriptionNews) => void,
  ): Promise<OutboxSubscription> {
    const { pool, name } = this.#settings
    requireSize(pool, name)
    await enterHandler(pool, claimFor)
    // What it could not do now is done when there is time.
    await this.#past.prepare().catch(this.#tell)
    await this.#owner.id()
    // Without it polling finds what there is.
    await this.#line.start().then(() => this.#requireAnother(), this.#tell)
    const subscription = new OutboxSubscription(claimFor, prefetch, this, deliver, new StallReporter(tell))
    if (this.#isClosed) throw new BrokerClosedError(name)
    this.#subscriptions.add(subscription)
    this.#rounds.start()
    return subscription
  }

  /** With a pool that does not tell its size. */
  async #requireAnother(): Promise<void> {
    const { pool, name, clock } = this.#settings
    try {
      await requireAnother(pool, name, clock)
    } catch (error) {
      if (this.#subscriptions.size === 0) await this.#line.stop()
      throw error
    }
  }

  /** There may be something to claim in the channel. */
  wakeChannel(channel: string): void {
    for (const each of this.#subscriptions) if (each.claimFor.channel === channel) each.wake()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    await Promise.all(Array.from(this.#subscriptions, subscription => subscription.close()))
    await this.#rounds.end()
    await this.#line.stop()
    await this.#owner.resign()
  }

  async claim(claimFor: ClaimFor, limit: number, onFull: () => void): Promise<readonly OutboxDelivery[]> {
    const deliveries = await this.#claimer.claim(claimFor, limit, onFull)
    if (deliveries.length > 0) this.#rounds.hurry()
    return deliveries
  }

  async ranDry(claimFor: ClaimFor): Promise<void> {
    const { isAlive, dueInMs } = await this.#claimer.lookAhead(claimFor)
    if (!isAlive) await this.#owner.beat(this.#settings.pool)
    if (dueInMs !== null) this.#rounds.wakeIn(dueInMs)
    await this.#adopt(claimFor.channel)
  }

  begin(delivery: OutboxDelivery, ended: readonly AttemptRecord[]): Promise<boolean> {
    return this.#settler.begin(delivery, ended)
  }

  async settle(delivery: OutboxDelivery, settlement: Settlement): Promise<boolean> {
    const isSettled = await this.#settler.settle(delivery, settlement)
    if (settlement.outcome === 'retry' || settlement.outcome === 'release')
      this.#rounds.wakeIn(settlement.notBefore - this.#settings.clock.now())
    return isSettled
  }

  async giveBack(deliveries: readonly OutboxDelivery[]): Promise<void> {
    await Promise.all(deliveries.map(delivery => this.#settler.giveBack(delivery)))
    for (const channel of new Set(deliveries.map(each => each.channel))) {
      this.wakeChannel(channel)
      await this.#notices.tell(channel).catch(() => {})
    }
  }

  async putOff(delivery: OutboxDelivery, settlement?: Settlement): Promise<void> {
    this.#rounds.wakeIn(await this.#settler.putOff(delivery, settlement))
  }

  wake({ channel, handler }: ClaimFor): void {
    for (const each of this.#subscriptions)
      if (each.claimFor.channel === channel && each.claimFor.handler === handler) each.wake()
  }

  left(subscription: OutboxSubscription): void {
    this.#subscriptions.delete(subscription)
    if (this.#subscriptions.size === 0) this.#rounds.stop()
  }

  trouble(error: unknown): void {
    try {
      this.#settings.onError(error)
    } catch {
      // Whoever was to be told has trouble of his own.
    }
  }

  readonly #tell = (error: unknown): void => this.trouble(error)

  lost(channel: string): DeliveryLostError {
    return new DeliveryLostError(this.#settings.name, channel)
  }

  /** What is for nobody: a transaction may have begun before the channel had a handler. */
  async #adopt(channel: string): Promise<void> {
    if (await adopt(this.#settings.pool, channel)) this.wakeChannel(channel)
  }

  /** Also while there is always something else to claim. */
  async #adoptAll(): Promise<void> {
    const channels = new Set(Array.from(this.#subscriptions, ({ claimFor }) => claimFor.channel))
    for (const channel of channels) await this.#adopt(channel)
  }

  #wakeAll(): void {
    for (const subscription of this.#subscriptions) subscription.wake()
  }

  /** What can wait, and must not keep anything else waiting. */
  async #tend(): Promise<void> {
    const duties = [
      () => this.#line.start(),
      () => this.#holdings.check(),
      async () => (await this.#owner.reclaim()) > 0 && this.#wakeAll(),
      async () => (await this.#strays.giveBack()) && this.#wakeAll(),
      () => this.#adoptAll(),
      () => this.#past.tend(),
    ]
    // One that fails is made up for the next time.
    for (const duty of duties) await Promise.resolve(duty()).catch(this.#tell)
  }
}
