import type { AttemptRecord } from '../../../../core/dead-letter/letter.ts'
import {
  type Delivery,
  DeliveryLostError,
  type Settlement,
  type Subscription,
} from '../../../../ports/broker.ts'
import type { RabbitmqSettings } from '../../options.ts'
import type { RabbitmqDelivery } from './delivery.ts'
import type { Intake } from './intake.ts'
import type { Settler } from './settler.ts'

/** What is handed over to a handler, and what becomes of it. How messages come in is the intake's business. */
export class RabbitmqSubscription implements Subscription {
  readonly #settings: RabbitmqSettings
  readonly #intake: Intake
  readonly #settler: Settler
  readonly #queue: string
  readonly #forget: (subscription: RabbitmqSubscription) => void
  #closing: Promise<void> | undefined

  constructor(
    settings: RabbitmqSettings,
    intake: Intake,
    settler: Settler,
    queue: string,
    forget: (subscription: RabbitmqSubscription) => void,
  ) {
    this.#settings = settings
    this.#intake = intake
    this.#settler = settler
    this.#queue = queue
    this.#forget = forget
  }

  /**
   * On record here, and with the next publishing of the message. A process that dies takes this record with it; then the
   * server hands the message over again marked as such, and it is counted when it comes back.
   */
  begin(delivery: Delivery, ended: readonly AttemptRecord[]): void | Promise<void> {
    if (!this.#intake.holds(delivery)) return this.#lost(delivery)
    delivery.recordEnds(ended)
    delivery.recordStart()
  }

  settle(delivery: Delivery, settlement: Settlement): void | Promise<void> {
    if (!this.#intake.holds(delivery)) return this.#lost(delivery)
    if (settlement.outcome === 'done' || (settlement.outcome === 'dead' && settlement.saved)) {
      this.#intake.settled(delivery)
      return
    }
    return this.#makeDurable(delivery, settlement)
  }

  pause(): void {
    this.#intake.pause()
  }

  resume(): void {
    this.#intake.resume()
  }

  close(): Promise<void> {
    this.#closing ??= this.#intake.close().finally(() => this.#forget(this))
    return this.#closing
  }

  async #makeDurable(
    delivery: RabbitmqDelivery,
    settlement: Exclude<Settlement, { outcome: 'done' }>,
  ): Promise<void> {
    const isDurable = await this.#intake.during(delivery, this.#persist(delivery, settlement))
    if (!isDurable) await this.#lost(delivery)
  }

  #persist(
    delivery: RabbitmqDelivery,
    settlement: Exclude<Settlement, { outcome: 'done' }>,
  ): Promise<boolean> {
    if (settlement.outcome === 'dead')
      return this.#settler.keepLetter(delivery, this.#queue, settlement.letter)
    if (settlement.outcome === 'retry') delivery.recordEnds(settlement.ended)
    else delivery.takeBackStart()
    const waitMs = settlement.notBefore - this.#settings.clock.now()
    return this.#settler.putBack(delivery, this.#queue, waitMs)
  }

  #lost(delivery: Delivery): Promise<void> {
    return Promise.reject(new DeliveryLostError(this.#settings.name, delivery.channel))
  }
}
