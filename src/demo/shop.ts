import type { LazaretEvent } from '../core/event/event.ts'
import type { Broker } from '../ports/broker.ts'
import type { Clock } from '../ports/clock.ts'
import type { Ledger } from '../ports/ledger.ts'
import type { Observer } from '../ports/observer.ts'
import type { Store } from '../ports/store.ts'
import { createBreaker } from '../runtime/breaker.ts'
import { type Consumer, createConsumer } from '../runtime/consumer/consumer.ts'
import { seededRandom } from '../testing/seeded-random.ts'
import { deployed } from './deployed.ts'
import { Deployment } from './deployment.ts'
import { emails } from './shop/emails.ts'
import type { Release } from './shop/fees.ts'
import type { ShopHandler } from './shop/handler.ts'
import { orders } from './shop/orders.ts'
import { payments } from './shop/payments.ts'
import { createServices, type Services } from './shop/services/services.ts'
import { warehouse } from './shop/warehouse.ts'

export const HOST = 'shop-5c9f7'

/** A store that is a broker too, with a ledger: all a shop needs. */
export type ShopStore = Store & { readonly broker: Broker; readonly ledger: Ledger }

export interface ShopOptions {
  readonly store: ShopStore
  readonly clock: Clock
  readonly seed: number
  readonly observer: Observer
}

export interface Shop {
  readonly consumers: readonly Consumer[]
  readonly payments: Deployment<Release>
  readonly services: Services
  /** Takes an order in. */
  publish(order: LazaretEvent): Promise<void>
  start(): Promise<void>
  close(options?: { readonly graceMs?: number | undefined }): Promise<void>
}

/** The whole shop: four channels, four consumers, one file. */
export function openShop({ store, clock, seed, observer }: ShopOptions): Shop {
  const { broker, ledger, deadLetters } = store
  const services = createServices(clock)
  const shared = { broker, ledger, deadLetters, clock, observer, host: HOST, caps: { keepStack: true } }
  let consumerNumber = 0

  function consumer<P>(handler: ShopHandler<P>): Consumer {
    const random = seededRandom(seed + 1_000 * ++consumerNumber)
    return createConsumer<P>({ ...shared, random, ...handler, handle: deployed(handler.handle) })
  }

  const breaker = createBreaker({}, { name: 'take-payment', preset: 'consumer', clock, observer })
  const paymentsInUse = new Deployment<Release>('2.3.9', breaker, (release, kept) =>
    consumer({ ...payments(services.processor, release), breaker: kept }),
  )
  const consumers = [
    consumer(orders(broker)),
    paymentsInUse,
    consumer(emails(services.mail)),
    consumer(warehouse(services.warehouse)),
  ]
  return {
    consumers,
    payments: paymentsInUse,
    services,
    publish: order => broker.publish([order]),
    async start() {
      await Promise.all(consumers.map(each => each.start()))
    },
    async close(options) {
      await Promise.all(consumers.map(each => each.close(options)))
    },
  }
}
