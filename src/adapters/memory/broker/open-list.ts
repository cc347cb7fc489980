import type { MemoryDelivery } from './delivery.ts'

/** The open deliveries of a subscription, in the order of handing over. Any of them is taken out with a few pointers. */
export class OpenList {
  last: MemoryDelivery | undefined
  size = 0

  push(delivery: MemoryDelivery): void {
    delivery.previous = this.last
    if (this.last !== undefined) this.last.next = delivery
    this.last = delivery
    this.size++
  }

  /** It must be in this list. */
  remove(delivery: MemoryDelivery): void {
    const { previous, next } = delivery
    if (previous !== undefined) previous.next = next
    if (next === undefined) this.last = previous
    else next.previous = previous
    delivery.previous = undefined
    delivery.next = undefined
    this.size--
  }
}
