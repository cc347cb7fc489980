import { Heap } from '../../../core/heap.ts'
import type { Item } from '../lane/item.ts'

/** Items by the time they wait for, those of the same time in the order they came. */
export class TimeHeap {
  readonly #heap = new Heap<Item>(isBefore)
  #order = 0

  get size(): number {
    return this.#heap.size
  }

  /** The earliest time. */
  get nextAt(): number | undefined {
    return this.#heap.first?.notBefore
  }

  add(item: Item, notBefore: number): void {
    item.notBefore = notBefore
    item.order = this.#order++
    this.#heap.push(item)
  }

  takeDue(now: number): Item | undefined {
    const { first } = this.#heap
    return first === undefined || first.notBefore > now ? undefined : this.#heap.shift()
  }

  /** Takes everything out, the earliest first. */
  drain(): Item[] {
    const items: Item[] = []
    for (let item = this.#heap.shift(); item !== undefined; item = this.#heap.shift()) items.push(item)
    return items
  }

  /** Moves all times; their order stays, and with it everyone's place. */
  move(ms: number): void {
    for (const item of this.#heap) item.notBefore += ms
  }
}

function isBefore(a: Item, b: Item): boolean {
  return a.notBefore < b.notBefore || (a.notBefore === b.notBefore && a.order < b.order)
}
