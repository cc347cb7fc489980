import type { DeadLetter, Origin } from '../../core/dead-letter/letter.ts'
import { REPLAY_HEADERS } from '../../core/event/replay-headers.ts'
import { OptionsError } from '../../core/options/faults.ts'
import type { SubscribeOptions } from '../../ports/broker.ts'
import { BrokerFullError } from '../../ports/broker-errors.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Message } from './delivery.ts'
import { HandlerQueue } from './handler-queue.ts'

/** Each handler has a queue of its own, from its first subscription on. Before the first of all there is the backlog. */
export class Channel {
  readonly #broker: string
  readonly #name: string
  readonly #capacity: number
  readonly #clock: Clock
  readonly #origin: Origin
  readonly #queues = new Map<string, HandlerQueue>()
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

  /** The one of the handler, or all of them. */
  *queuesFor(handler: string | undefined): Iterable<HandlerQueue> {
    for (const [name, queue] of this.#queues) if (handler === undefined || name === handler) yield queue
  }

  add(message: Message): void {
    this.#requireRoom()
    const target = 'id' in message ? message.headers[REPLAY_HEADERS.handler] : undefined
    const alone = target === undefined ? undefined : this.#queues.get(target)
    if (alone !== undefined) alone.add(message)
    else if (this.#queues.size === 0) this.#backlog.push(message)
    else for (const queue of this.#queues.values()) queue.add(message)
  }

  queueOf({ handler, ordering }: SubscribeOptions): HandlerQueue {
    const existing = this.#queues.get(handler)
    if (existing === undefined) return this.#open(handler, ordering)
    if (existing.ordering === ordering) return existing
    const remedy = `give '${existing.ordering}', which handler ${handler} began with, or another handler name`
    throw new OptionsError('subscribe', [{ path: 'subscribe.ordering', received: `'${ordering}'`, remedy }])
  }

  depth(handler: string): number {
    return this.#queues.get(handler)?.size ?? this.#backlog.length
  }

  *letters(): Iterable<DeadLetter> {
    for (const queue of this.#queues.values()) yield* queue.letters.values()
  }

  #open(handler: string, ordering: 'none' | 'by-key'): HandlerQueue {
    const queue = new HandlerQueue(this.#name, this.#origin, ordering, this.#clock)
    for (const message of this.#backlog) queue.add(message)
    this.#backlog = []
    this.#queues.set(handler, queue)
    return queue
  }

  /** Letters kept here take room as well. They are never refused: publishing stops first. */
  #requireRoom(): void {
    let fullest = this.#backlog.length
    for (const { size, letters } of this.#queues.values()) fullest = Math.max(fullest, size + letters.size)
    if (fullest >= this.#capacity) throw new BrokerFullError(this.#broker, this.#name, this.#capacity)
  }
}
