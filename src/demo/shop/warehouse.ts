import { exponential } from '../../core/retry/exponential.ts'
import type { ShopHandler } from '../relocate-stacks.ts'
import { ShipmentRequested } from './contracts.ts'
import type { WarehouseService } from './services/warehouse-service.ts'

/**
 * Hands parcels over to a service that is not always there. A call that gets no answer is tried again; five in a row
 * mean that the service fails, and then the breaker pauses the channel: waiting events use up no attempts meanwhile.
 */
export function warehouse(service: WarehouseService): ShopHandler<ShipmentRequested> {
  return {
    channel: 'warehouse',
    name: 'ship-order',
    release: '3.0.2',
    schema: ShipmentRequested,
    retry: {
      attempts: 8,
      backoff: exponential({ baseMs: 500, maxMs: 8_000 }),
      // A 500 is a bug of the service: it rarely disappears within minutes.
      byCategory: { integration: { attempts: 3 } },
    },
    breaker: { failures: 5, openMs: 5_000, successes: 2 },
    timeoutMs: 3_000,
    concurrency: 4,
    handle: ({ payload }, { signal }) => service.ship(payload, signal),
  }
}
