import { Injectable } from '@nestjs/common'
import { type HandlerContext, type LazaretEvent, PermanentError } from 'lazaret'
import { Consume } from 'lazaret/nest'
// biome-ignore lint/style/useImportType: Nest reads the class from the type of the parameter.
import { type Order, Warehouse } from './warehouse.ts'

@Injectable()
export class OrdersService {
  readonly #warehouse: Warehouse

  constructor(warehouse: Warehouse) {
    this.#warehouse = warehouse
  }

  /** The method is the handler of a consumer. It starts and drains with the application. */
  @Consume({ channel: 'orders', name: 'reserve', retry: { attempts: 5 }, breaker: { failures: 5 } })
  async reserve({ payload }: LazaretEvent<Order>, { signal }: HandlerContext): Promise<void> {
    if (payload.total < 0) throw new PermanentError('The total is below zero.')
    signal.throwIfAborted()
    await this.#warehouse.reserve(payload)
  }
}
