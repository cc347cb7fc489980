import type { TrackResult } from 'lazaret'
import { z } from 'zod'
import type { OrderEvents } from './events.ts'

export const NewOrder = z.object({
  customer: z.string().min(1).max(100),
  total: z.number().positive().max(1_000_000),
  /** The bank says no to those that end in 0. */
  card: z.string().regex(/^\d{4}$/),
})

type Tracked = TrackResult<'loki' | 'sentry'>

export interface Placed {
  readonly orderId: number
  readonly state: 'paid' | 'declined'
  /** What has become of each event in each sink so far. */
  readonly tracked: readonly { readonly type: string; readonly loki: string; readonly sentry: string }[]
}

/** Takes orders. Each step is tracked; an unreachable receiver is not the customer's problem. */
export class Orders {
  readonly #events: OrderEvents
  #lastId = 0

  constructor(events: OrderEvents) {
    this.#events = events
  }

  async place({ customer, total, card }: z.infer<typeof NewOrder>): Promise<Placed> {
    const orderId = ++this.#lastId
    const key = `order-${orderId}`
    const isPaid = !card.endsWith('0')
    const placed = this.#events.track(
      { type: 'order.placed', key, payload: { orderId, customer, total } },
      // In the buffers is enough: a sink that is slow or away must not make the customer wait.
      { wait: 'accepted' },
    )
    // Critical, so this waits until the journal has the event: a customer who sees "paid" has paid.
    const settled = this.#events.track(
      isPaid
        ? { type: 'order.paid', key, payload: { orderId, total } }
        : {
            type: 'payment.failed',
            key,
            severity: 'error',
            payload: { orderId, total, error: { name: 'CardDeclined', message: 'the bank said no' } },
          },
      { wait: 'accepted' },
    )
    const results = await Promise.all([placed, settled])
    return { orderId, state: isPaid ? 'paid' : 'declined', tracked: results.map(told) }
  }
}

function told({ event, sinks }: Tracked): Placed['tracked'][number] {
  return { type: event?.type ?? '?', loki: sinks.loki.outcome, sentry: sinks.sentry.outcome }
}
