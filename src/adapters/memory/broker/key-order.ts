import type { LazaretEvent } from '../../../core/event/event.ts'
import { Deque } from './deque.ts'

/** The events of one key that are held behind its unresolved one. */
interface KeyQueue {
  readonly key: string
  /** Made when there is one to hold: most keys never have two events at a time. */
  held: Deque<LazaretEvent> | undefined
}

/**
 * Strict order per key: of every key at most one event goes on, and the next one only when it is resolved. Until then
 * it is ready, open, waiting for a retry, or dead, and its key has a queue.
 */
export class KeyOrder {
  readonly #release: (event: LazaretEvent) => void
  readonly #queues = new Map<string, KeyQueue>()
  /** By event id: the keys that a dead-lettered event blocks. */
  readonly #dead = new Map<string, KeyQueue>()

  constructor(release: (event: LazaretEvent) => void) {
    this.#release = release
  }

  arrived(event: LazaretEvent): void {
    const deadQueue = this.#dead.get(event.id)
    if (deadQueue !== undefined && deadQueue.key === event.key) {
      // A replay goes on from the place that its event died in, before all that have waited since.
      this.#dead.delete(event.id)
      this.#release(event)
      return
    }
    // An edited replay may have another key: then its old one need not wait for it.
    this.unblock(event.id)
    this.#queueUp(event)
  }

  /** It is handled; the next of its key goes on. */
  done({ key }: LazaretEvent): void {
    if (key !== undefined) this.#next(this.#queues.get(key)!)
  }

  /** It is dead; the others of its key stay where they are until `unblock` or a replay. */
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
