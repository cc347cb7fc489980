import type { LazaretEvent } from '../core/event/event.ts'
import type { Broker } from '../ports/broker.ts'
import type { Clock } from '../ports/clock.ts'
import type { Ledger } from '../ports/ledger.ts'
import type { Observer } from '../ports/observer.ts'
import type { Store } from '../ports/store.ts'
import { replayToBroker } from '../replay/routes.ts'
import { createBreaker } from '../runtime/breaker.ts'
import { type Consumer, createConsumer } from '../runtime/consumer/consumer.ts'
import { seededRandom } from '../testing/seeded-random.ts'
import { relocateStacks, type ShopHandler } from './relocate-stacks.ts'
import { RollingDeployment } from './rolling-deployment.ts'
import { emails } from './shop/emails.ts'
import type { Release } from './shop/fees.ts'
import { orders } from './shop/orders.ts'
import { payments } from './shop/payments.ts'
import { createServices } from './shop/services/services.ts'
import { warehouse } from './shop/warehouse.ts'
import { openTracking } from './shop-tracking.ts'

const HOST = 'shop-5c9f7'

/** A store that also has a broker and a ledger: everything that the shop needs. */
export type ShopStore = Store & { readonly broker: Broker; readonly ledger: Ledger }

interface ShopOptions {
  readonly store: ShopStore
  readonly clock: Clock
  readonly seed: number
  /** Observes the consumers. */
  readonly observer: Observer
  /** Observes the dispatcher [`observer`]. */
  readonly trackingObserver?: Observer | undefined
}

export type Shop = ReturnType<typeof openShop>

/** The whole shop: four channels with a consumer each, in one file, and a dispatcher with two sinks. */
export function openShop(options: ShopOptions) {
  const { store, clock, seed, observer } = options
  const { broker, ledger, deadLetters } = store
  const services = createServices(clock)
  const shared = { broker, ledger, deadLetters, clock, observer, host: HOST, caps: { keepStack: true } }
  const tracking = openTracking({
    ...{ deadLetters, clock, seed, host: HOST },
    observer: options.trackingObserver ?? observer,
  })
  const { track } = tracking
  let consumerNumber = 0

  function consumer<P>(handler: ShopHandler<P>): Consumer {
    const random = seededRandom(seed + 1_000 * ++consumerNumber)
    return createConsumer<P>({ ...shared, random, ...handler, handle: relocateStacks(handler.handle) })
  }

  const breaker = createBreaker({}, { name: 'take-payment', preset: 'consumer', clock, observer })
  const paymentsInUse = new RollingDeployment<Release>('2.3.9', breaker, (release, kept) =>
    consumer({ ...payments(services.processor, release, track), breaker: kept }),
  )
  const consumers = [
    consumer(orders(broker, track)),
    paymentsInUse,
    consumer(emails(services.mail)),
    consumer(warehouse(services.warehouse)),
  ]
  return {
    consumers,
    payments: paymentsInUse,
    services,
    tracking,
    /** Where replays go: back to the broker, or to the sink that has missed the event. */
    replayTarget: replayToBroker(broker, tracking.replayTarget),
    publish: (order: LazaretEvent) => broker.publish([order]),
    async start() {
      await Promise.all(consumers.map(each => each.start()))
    },
    async close(options?: { readonly graceMs?: number | undefined }) {
      await Promise.all(consumers.map(each => each.close(options)))
      // The consumers track events until they are closed, so the dispatcher closes after them.
      await tracking.dispatcher.close(options)
    },
  }
}
