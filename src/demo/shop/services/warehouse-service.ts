import type { ShipmentRequested } from '../contracts.ts'
import { HttpError } from './http-error.ts'
import { chanceOf, RemoteService } from './latency.ts'

/** The share of shipments whose first call times out. */
const FLAKY_SHARE = 0.12

/** Simulates the HTTP API of the warehouse: it is flaky, and at times it fails completely. */
export class WarehouseService extends RemoteService {
  /** While true, every call gets the status 503. */
  isFailing = false
  /** The orders whose first call timed out. The second call succeeds and removes the order. */
  readonly #dropped = new Set<string>()

  async ship({ order, items, address }: ShipmentRequested, signal: AbortSignal): Promise<void> {
    await this.latency(order, signal)
    if (this.isFailing) throw new HttpError(503, 'the warehouse is not available')
    if (this.#drops(order)) throw noAnswer()
    const missing = items.find(({ sku }) => sku.startsWith('OLD-'))
    if (missing !== undefined) throw new HttpError(404, `no article ${missing.sku} in any aisle`)
    if (address.postcode.startsWith('00')) throw new HttpError(500, 'the route planner failed')
  }

  #drops(order: string): boolean {
    if (chanceOf(`flaky ${order}`) >= FLAKY_SHARE || this.#dropped.delete(order)) return false
    this.#dropped.add(order)
    return true
  }
}

function noAnswer(): Error {
  return Object.assign(new Error('connect ETIMEDOUT 10.20.4.17:8443'), { code: 'ETIMEDOUT' })
}
