import type { LazaretEvent } from '../../../core/event/event.ts'
import { Deque } from './deque.ts'

/** The events of one key that are held behind its unresolved one. */
interface Lane {
  readonly key: string
  /** Made when there is one to hold: most keys never have two events at a time. */
  held: Deque<LazaretEvent> | undefined
}

/**
 * Strict order per key: of every key at most one event goes on, and the next one only when it is resolved. Until then
 * it is ready, open, waiting for a retry, or dead, and its key has a lane.
 */
export class KeyOrder {
  readonly #goOn: (event: LazaretEvent) => void
  readonly #lanes = new Map<string, Lane>()
  /** By event id: the lanes that wait for a dead event. */
  readonly #dead = new Map<string, Lane>()

  constructor(goOn: (event: LazaretEvent) => void) {
    this.#goOn = goOn
  }

  arrived(event: LazaretEvent): void {
    const placeOfDeath = this.#dead.get(event.id)
    if (placeOfDeath !== undefined && placeOfDeath.key === event.key) {
      // A replay goes on from the place that its event died in, before all that have waited since.
      this.#dead.delete(event.id)
      this.#goOn(event)
      return
    }
    // An edited replay may have another key: then its old one need not wait for it.
    this.letGo(event.id)
    this.#queueUp(event)
  }

  /** It is handled; the next of its key goes on. */
  done({ key }: LazaretEvent): void {
    if (key !== undefined) this.#next(this.#lanes.get(key)!)
  }

  /** It is dead; the others of its key stay where they are until `letGo` or a replay. */
  died({ id, key }: LazaretEvent): void {
    if (key !== undefined) this.#dead.set(id, this.#lanes.get(key)!)
  }

  letGo(eventId: string): void {
    const lane = this.#dead.get(eventId)
    if (lane === undefined) return
    this.#dead.delete(eventId)
    this.#next(lane)
  }

  #queueUp(event: LazaretEvent): void {
    const { key } = event
    const lane = key === undefined ? undefined : this.#lanes.get(key)
    if (lane !== undefined) {
      lane.held ??= new Deque()
      lane.held.push(event)
      return
    }
    if (key !== undefined) this.#lanes.set(key, { key, held: undefined })
    this.#goOn(event)
  }

  #next(lane: Lane): void {
    const next = lane.held?.shift()
    if (next === undefined) this.#lanes.delete(lane.key)
    else this.#goOn(next)
  }
}
