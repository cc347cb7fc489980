import type { DeadLetter, Origin } from '../../../core/dead-letter/letter.ts'
import { replayOf } from '../../../core/event/replay-headers.ts'
import { OptionsError } from '../../../core/options/faults.ts'
import { BrokerFullError, type SubscribeOptions } from '../../../ports/broker.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Message } from './delivery.ts'
import { HandlerQueue } from './handler-queue.ts'

/**
 * Each handler has its own queue, from its first subscription on. Before the first handler subscribes, events go to the
 * backlog.
 */
export class Channel {
  readonly #broker: string
  readonly #name: string
  readonly #capacity: number
  readonly #clock: Clock
  readonly #origin: Origin
  readonly #queues = new Map<string, HandlerQueue>()
  /** Replays for handlers that have never subscribed. */
  readonly #awaiting = new Map<string, Message[]>()
  #backlog: Message[] = []

  constructor(broker: string, name: string, capacity: number, clock: Clock) {
    this.#broker = broker
    this.#name = name
    this.#capacity = capacity
    this.#clock = clock
    this.#origin = Object.freeze({ broker, queue: name })
  }

  get queues(): Iterable<HandlerQueue> {
    return this.#queues.values()
  }

  /** The queue of the handler, or all queues without a handler. */
  *queuesFor(handler: string | undefined): Iterable<HandlerQueue> {
    for (const [name, queue] of this.#queues) if (handler === undefined || name === handler) yield queue
  }

  add(message: Message): void {
    this.#requireRoom()
    const target = 'id' in message ? replayOf(message)?.handler : undefined
    if (target !== undefined) this.#addFor(target, message)
    else if (this.#queues.size === 0) this.#backlog.push(message)
    else for (const queue of this.#queues.values()) queue.add(message)
  }

  queueOf({ handler, ordering }: SubscribeOptions): HandlerQueue {
    const existing = this.#queues.get(handler)
    if (existing === undefined) return this.#open(handler, ordering)
    if (existing.ordering === ordering) return existing
    const remedy = `give '${existing.ordering}', the ordering with which handler ${handler} was registered, or another handler name`
    throw new OptionsError('subscribe', [{ path: 'subscribe.ordering', received: `'${ordering}'`, remedy }])
  }

  depth(handler: string): number {
    return (
      this.#queues.get(handler)?.size ?? this.#backlog.length + (this.#awaiting.get(handler)?.length ?? 0)
    )
  }

  *letters(): Iterable<DeadLetter> {
    for (const queue of this.#queues.values()) yield* queue.letters.values()
  }

  /**
   * A replay is only for the handler that failed. For other handlers its event is not dead, so they would handle it a
   * second time.
   */
  #addFor(handler: string, replay: Message): void {
    const queue = this.#queues.get(handler)
    if (queue !== undefined) queue.add(replay)
    else this.#awaiting.set(handler, [...(this.#awaiting.get(handler) ?? []), replay])
  }

  #open(handler: string, ordering: 'none' | 'by-key'): HandlerQueue {
    const queue = new HandlerQueue(this.#name, this.#origin, ordering, this.#clock)
    for (const message of this.#backlog) queue.add(message)
    this.#backlog = []
    for (const message of this.#awaiting.get(handler) ?? []) queue.add(message)
    this.#awaiting.delete(handler)
    this.#queues.set(handler, queue)
    return queue
  }

  /** Letters that the channel keeps count too. A letter is never refused, because publishing stops first. */
  #requireRoom(): void {
    let fullest = this.#backlog.length
    for (const { length } of this.#awaiting.values()) fullest = Math.max(fullest, length)
    for (const { size, letters } of this.#queues.values()) fullest = Math.max(fullest, size + letters.size)
    if (fullest >= this.#capacity) throw new BrokerFullError(this.#broker, this.#name, this.#capacity)
  }
}
