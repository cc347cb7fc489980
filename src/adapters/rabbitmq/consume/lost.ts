import type { Past } from '../wire/state.ts'
import type { RabbitmqDelivery } from './delivery.ts'

const MOST = 10_000

/**
 * What this process had open when its connection was lost. Such a message comes again looking like that of a process
 * that died; as long as it comes to us, we know better how often it was begun.
 */
export class LostDeliveries {
  readonly #pasts = new Map<string, Past>()

  add({ id, past }: RabbitmqDelivery): void {
    if (id === undefined) return
    this.#pasts.set(id, past)
    if (this.#pasts.size <= MOST) return
    const [oldest] = this.#pasts.keys()
    this.#pasts.delete(oldest!)
  }

  take(id: string | undefined): Past | undefined {
    if (id === undefined || this.#pasts.size === 0) return undefined
    const past = this.#pasts.get(id)
    this.#pasts.delete(id)
    return past
  }
}
