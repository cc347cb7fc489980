import { exponential } from '../../core/retry/exponential.ts'
import type { ShopHandler } from '../relocate-stacks.ts'
import { ShipmentRequested } from './contracts.ts'
import type { WarehouseService } from './services/warehouse-service.ts'

/**
 * Ships parcels through an unreliable service. A call without an answer is retried. Five failures in a row open the
 * breaker, which pauses the channel, so that waiting events use up no attempts.
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
