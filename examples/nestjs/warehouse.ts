import { Injectable } from '@nestjs/common'
import { Protect } from 'lazaret/nest'

export interface Order {
  readonly orderId: string
  readonly total: number
}

/** A service that calls another system. */
@Injectable()
export class Warehouse {
  /** Two quick retries, and a breaker of its own: while the warehouse is down, no caller waits for its timeout. */
  @Protect({ retry: { attempts: 3 }, breaker: { failures: 5 }, timeoutMs: 2_000 })
  async reserve(order: Order): Promise<void> {
    const body = JSON.stringify(order)
    const response = await fetch('http://warehouse:8080/reservations', { method: 'POST', body })
    if (!response.ok) throw Object.assign(new Error('refused'), { status: response.status })
  }
}
