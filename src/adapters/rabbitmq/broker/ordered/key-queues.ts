import { isDeepStrictEqual } from 'node:util'
import type { AmqpMessage } from '../../connection/amqp.ts'
import type { RabbitmqDelivery } from '../consume/delivery.ts'

/**
 * An event in the line of its key, or what stands for it.
 * - `ready`: to be handed over when it is first.
 * - `open`: handed over.
 * - `waiting`: for its next attempt.
 * - `dead`: given up on; it blocks its key until the key is unblocked or the event is published again.
 */
export interface QueuedEvent {
  readonly key: string
  readonly id: string | undefined
  /** The position in the order. Lower positions come first. */
  readonly place: number
  state: 'ready' | 'open' | 'waiting' | 'dead'
  /** The delivery that a handler settles. */
  delivery: RabbitmqDelivery | undefined
  /** The message to acknowledge; undefined while a new copy is being sent. */
  message: AmqpMessage | undefined
  /** The end of its wait, by a monotonic clock. */
  dueAt: number
  /** The message was returned unsettled. It runs alone, and its start is recorded before. */
  isStray: boolean
  /** A copy of it is in the held queue. The next owner reads those before the others. */
  isHeld: boolean
  /** Requests to unblock its key that came before it was dead. They are settled with it. */
  requests: readonly AmqpMessage[]
}

/** The events of each key in their order. Only the first of a line may run. */
export class KeyQueues {
  readonly #queues = new Map<string, QueuedEvent[]>()
  readonly #byPlace = new Map<number, QueuedEvent>()
  /** An event that was published twice has two entries. */
  readonly #byId = new Map<string | undefined, QueuedEvent[]>()
  /** Keys whose first is ready, in the order in which they became so. */
  readonly #ready = new Set<string>()
  #lastPlace = 0
  #held = 0

  /** How many of them are in the held queue. */
  get held(): number {
    return this.#held
  }

  nextPlace(): number {
    return this.#lastPlace + 1
  }

  at(place: number): QueuedEvent | undefined {
    return this.#byPlace.get(place)
  }

  add(entry: QueuedEvent): void {
    this.#lastPlace = Math.max(this.#lastPlace, entry.place)
    this.#byPlace.set(entry.place, entry)
    this.#byId.set(entry.id, [...this.withId(entry.id), entry])
    if (entry.isHeld) this.#held++
    const line = this.#queues.get(entry.key)
    if (line === undefined) this.#queues.set(entry.key, [entry])
    else {
      line.push(entry)
      line.sort((a, b) => a.place - b.place)
    }
    this.look(entry.key)
  }

  remove(entry: QueuedEvent): void {
    if (this.#byPlace.get(entry.place) !== entry) return
    this.#byPlace.delete(entry.place)
    const others = this.withId(entry.id).filter(other => other !== entry)
    if (others.length === 0) this.#byId.delete(entry.id)
    else this.#byId.set(entry.id, others)
    if (entry.isHeld) this.#held--
    const line = this.#queues.get(entry.key) ?? []
    const rest = line.filter(other => other !== entry)
    if (rest.length === 0) this.#queues.delete(entry.key)
    else this.#queues.set(entry.key, rest)
    this.look(entry.key)
  }

  /** A copy of the event is in the held queue from now on. */
  hold(entry: QueuedEvent): void {
    if (!entry.isHeld) this.#held++
    entry.isHeld = true
  }

  /** The first event of the key may have become deliverable. */
  look(key: string): void {
    if (this.#queues.get(key)?.[0]?.state === 'ready') this.#ready.add(key)
    else this.#ready.delete(key)
  }

  /** The next event to deliver. */
  get ready(): QueuedEvent | undefined {
    const [key] = this.#ready
    return key === undefined ? undefined : this.#queues.get(key)?.[0]
  }

  /** The next event to deliver of those in the held queue. */
  get readyHeld(): QueuedEvent | undefined {
    for (const key of this.#ready) {
      const first = this.#queues.get(key)?.[0]
      if (first?.isHeld) return first
    }
    return undefined
  }

  withId(id: string | undefined): readonly QueuedEvent[] {
    return this.#byId.get(id) ?? []
  }

  dead(id: string): QueuedEvent | undefined {
    return this.withId(id).find(({ state }) => state === 'dead')
  }

  /** A later entry of the same event that may run. */
  again({ id, key, place }: QueuedEvent): QueuedEvent | undefined {
    return this.withId(id).find(each => each.key === key && each.place > place && each.state === 'ready')
  }

  /**
   * An entry of the same event. One without a key has a line of its own, so that its copy in the held queue stands in another
   * line than the message of a process that died before it could settle that. The id alone does not show that both are the
   * same event: two sources may use one id, and a replay has the id of its event.
   */
  sameAs({ id, event }: Pick<RabbitmqDelivery, 'id' | 'event'>, key: string): QueuedEvent | undefined {
    const inLine = this.#queues.get(key)?.find(entry => entry.id === id)
    if (inLine !== undefined || event === undefined || event.key !== undefined) return inLine
    return this.withId(id).find(entry => entry.isHeld && isDeepStrictEqual(entry.delivery?.event, event))
  }

  /** The lines, each with its first event first. */
  lines(): Iterable<readonly QueuedEvent[]> {
    return this.#queues.values()
  }

  *all(): Generator<QueuedEvent> {
    for (const line of this.#queues.values()) yield* line
  }

  clear(): void {
    this.#queues.clear()
    this.#byPlace.clear()
    this.#byId.clear()
    this.#ready.clear()
    this.#held = 0
  }
}
