import type { LazaretEvent } from '../../../core/event/event.ts'
import { Deque } from './deque.ts'

/** The events of one key that wait for the unresolved event of that key. */
interface KeyQueue {
  readonly key: string
  /** Created for the second event of a key. Most keys never have two events at a time. */
  held: Deque<LazaretEvent> | undefined
}

/**
 * Strict order per key: of every key at most one event goes on, and the next one only when it is resolved. Until then
 * it is ready, open, waiting for a retry, or dead, and its key has a queue.
 */
export class KeyOrder {
  readonly #release: (event: LazaretEvent) => void
  readonly #queues = new Map<string, KeyQueue>()
  /** The keys that dead-lettered events block, by event id. */
  readonly #dead = new Map<string, KeyQueue>()

  constructor(release: (event: LazaretEvent) => void) {
    this.#release = release
  }

  arrived(event: LazaretEvent): void {
    const deadQueue = this.#dead.get(event.id)
    if (deadQueue !== undefined && deadQueue.key === event.key) {
      // A replay takes the position of its dead-lettered event, before all events that wait since.
      this.#dead.delete(event.id)
      this.#release(event)
      return
    }
    // An edited replay may have another key. Then the old key need not wait for it.
    this.unblock(event.id)
    this.#queueUp(event)
  }

  /** The event is handled, so the next event of its key continues. */
  done({ key }: LazaretEvent): void {
    if (key !== undefined) this.#next(this.#queues.get(key)!)
  }

  /** The event is dead. The other events of its key wait until `unblock` or a replay. */
  died({ id, key }: LazaretEvent): void {
    if (key !== undefined) this.#dead.set(id, this.#queues.get(key)!)
  }

  /** Unblocks the key of a dead-lettered event. */
  unblock(eventId: string): void {
    const queue = this.#dead.get(eventId)
    if (queue === undefined) return
    this.#dead.delete(eventId)
    this.#next(queue)
  }

  #queueUp(event: LazaretEvent): void {
    const { key } = event
    const queue = key === undefined ? undefined : this.#queues.get(key)
    if (queue !== undefined) {
      queue.held ??= new Deque()
      queue.held.push(event)
      return
    }
    if (key !== undefined) this.#queues.set(key, { key, held: undefined })
    this.#release(event)
  }

  #next(queue: KeyQueue): void {
    const next = queue.held?.shift()
    if (next === undefined) this.#queues.delete(queue.key)
    else this.#release(next)
  }
}
