import type { Past } from '../wire/state.ts'
import type { RabbitmqDelivery } from './delivery.ts'

const MOST = 10_000

/**
 * What this process had open when its connection was lost. Such a message comes again looking like that of a process
 * that died; as long as it comes to us, we know better how often it was begun.
 */
export class LostDeliveries {
  readonly #pasts = new Map<string, Past>()

  add(delivery: RabbitmqDelivery): void {
    const name = nameOf(delivery)
    if (name === undefined) return
    // Nobody died: the attempt that was begun is no crash, and how it ends will not be told to the server.
    delivery.takeBackStart()
    this.#pasts.set(name, delivery.past)
    if (this.#pasts.size <= MOST) return
    const [oldest] = this.#pasts.keys()
    this.#pasts.delete(oldest!)
  }

  take(delivery: RabbitmqDelivery): Past | undefined {
    const name = this.#pasts.size === 0 ? undefined : nameOf(delivery)
    if (name === undefined) return undefined
    const past = this.#pasts.get(name)
    this.#pasts.delete(name)
    return past
  }
}

/** Every handler has its own copy of an event. */
function nameOf({ id, origin }: RabbitmqDelivery): string | undefined {
  return id === undefined ? undefined : `${origin.queue}\n${id}`
}
