import type { OnModuleDestroy, OnModuleInit } from '@nestjs/common'
import { type Broker, type Consumer, createConsumer, type DeadLetterQueue, PermanentError } from 'lazaret'

export interface Order {
  readonly orderId: string
  readonly total: number
}

/** A service of the application, such as one that calls another system. */
export abstract class Warehouse {
  abstract reserve(order: Order, signal: AbortSignal): Promise<void>
}

/** Nest starts the consumer with the application and closes it when the application ends. */
export class OrdersConsumer implements OnModuleInit, OnModuleDestroy {
  readonly #consumer: Consumer

  constructor(broker: Broker, deadLetters: DeadLetterQueue, warehouse: Warehouse) {
    this.#consumer = createConsumer<Order>({
      broker,
      deadLetters,
      channel: 'orders',
      name: 'reserve',
      // The module owns the broker and the store, because other providers use them too.
      leaveOpen: true,
      async handle({ payload }, { signal }) {
        if (payload.total < 0) throw new PermanentError('The total is below zero.')
        await warehouse.reserve(payload, signal)
      },
    })
  }

  async onModuleInit(): Promise<void> {
    await this.#consumer.start()
  }

  async onModuleDestroy(): Promise<void> {
    await this.#consumer.close({ graceMs: 5_000 })
  }

  health() {
    return this.#consumer.health()
  }
}
