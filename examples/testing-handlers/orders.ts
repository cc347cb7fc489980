import {
  type Broker,
  type Clock,
  createConsumer,
  type DeadLetterQueue,
  exponential,
  type Observer,
  PermanentError,
} from 'lazaret'

export interface Order {
  readonly orderId: string
  readonly total: number
}

export interface Warehouse {
  reserve(order: Order, signal: AbortSignal): Promise<void>
}

/** Everything that a test replaces comes in from outside. In production `clock`, `random` and `observer` are left out. */
interface OrdersEnvironment {
  readonly broker: Broker
  readonly deadLetters: DeadLetterQueue
  readonly warehouse: Warehouse
  readonly clock?: Clock
  readonly random?: () => number
  readonly observer?: Observer
}

export function createOrders({ warehouse, ...environment }: OrdersEnvironment) {
  return createConsumer<Order>({
    ...environment,
    channel: 'orders',
    name: 'reserve',
    retry: { attempts: 3, backoff: exponential({ baseMs: 1_000, maxMs: 60_000, jitter: 'none' }) },
    breaker: { failures: 5, openMs: 30_000 },
    timeoutMs: 5_000,
    async handle({ payload }, { signal }) {
      if (payload.total < 0) throw new PermanentError('The total is below zero.')
      await warehouse.reserve(payload, signal)
    },
  })
}
