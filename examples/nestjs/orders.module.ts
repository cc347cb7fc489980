import type { DynamicModule, OnApplicationShutdown, Type } from '@nestjs/common'
import type { Broker, DeadLetterStore } from 'lazaret'
import { OrdersConsumer, Warehouse } from './orders.consumer.ts'

/** What the module needs of a store; that of `openSqlite`, for example. */
interface OrdersStore {
  readonly broker: Broker
  readonly deadLetters: DeadLetterStore
  close(): Promise<void>
}

/** The token under which other providers get the store, for example to publish with `store.broker`. */
export const ORDERS_STORE = Symbol('orders store')

/** Closes the store after every consumer: Nest calls onApplicationShutdown after all onModuleDestroy hooks. */
class OrdersStoreCloser implements OnApplicationShutdown {
  readonly #store: OrdersStore

  constructor(store: OrdersStore) {
    this.#store = store
  }

  async onApplicationShutdown(): Promise<void> {
    await this.#store.close()
  }
}

class OrdersModule {}

/** The module of one store. The application imports the result. */
export function ordersModule(store: OrdersStore, warehouse: Type<Warehouse>): DynamicModule {
  return {
    module: OrdersModule,
    providers: [
      { provide: ORDERS_STORE, useValue: store },
      { provide: Warehouse, useClass: warehouse },
      {
        provide: OrdersConsumer,
        inject: [ORDERS_STORE, Warehouse],
        useFactory: ({ broker, deadLetters }: OrdersStore, service: Warehouse) =>
          new OrdersConsumer(broker, deadLetters, service),
      },
      {
        provide: OrdersStoreCloser,
        inject: [ORDERS_STORE],
        useFactory: (opened: OrdersStore) => new OrdersStoreCloser(opened),
      },
    ],
    exports: [ORDERS_STORE, OrdersConsumer],
  }
}
