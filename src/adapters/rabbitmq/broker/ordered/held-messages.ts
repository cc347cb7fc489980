import { type Clock, monotonicNow } from '../../../../ports/clock.ts'
import type { AmqpMessage } from '../../connection/amqp.ts'
import type { RabbitmqDelivery } from '../consume/delivery.ts'
import { countOf, OWN, textOf } from '../wire/headers.ts'
import { readHeldWaitMs } from '../wire/message-log.ts'

/**
 * What a new owner finds in the held queue. The server gives a consumer a limited number of unsettled messages, so all that
 * is superseded is settled while it is read.
 */
export class HeldMessages {
  /** The newest copy of each event or mark, by its place. */
  readonly newest = new Map<number, AmqpMessage>()
  /** Copies whose place has another event too: an owner that did not know of them gave the place away again. */
  readonly displaced: AmqpMessage[] = []
  /** Requests to unblock the key of an event that is not dead yet. */
  readonly requests: AmqpMessage[] = []
  readonly #queue: string
  /** The places of the marks by the ids of their dead-lettered events. */
  readonly #marks = new Map<string, number>()
  readonly #liveIds = new Set<string | undefined>()

  constructor(queue: string) {
    this.#queue = queue
  }

  /** Adds the next message. Answers those that are settled by it, in this order. */
  add(message: AmqpMessage): readonly AmqpMessage[] {
    const unblocked = headerOf(message, OWN.unblockKey)
    if (unblocked !== undefined) return this.#unblock(unblocked, message)
    const place = placeOf(message)
    const older = this.newest.get(place)
    this.newest.set(place, message)
    const olderDeadId = older && headerOf(older, OWN.deadEvent)
    if (olderDeadId !== undefined) this.#marks.delete(olderDeadId)
    const deadId = headerOf(message, OWN.deadEvent)
    if (deadId === undefined) this.#liveIds.add(message.properties.messageId)
    else this.#marks.set(deadId, place)
    if (older === undefined) return []
    if (isSameEvent(older, message)) return [older]
    this.displaced.push(older)
    return []
  }

  /** A mark is older than the request to remove it. */
  #unblock(id: string, request: AmqpMessage): readonly AmqpMessage[] {
    if (!isRequestFor(request, this.#queue)) return [request]
    const place = this.#marks.get(id)
    if (place !== undefined) {
      const mark = this.newest.get(place)!
      this.#marks.delete(id)
      this.newest.delete(place)
      return [mark, request]
    }
    if (!this.#liveIds.has(id) && !this.#liveIds.has(undefined)) return [request]
    this.requests.push(request)
    return []
  }
}

/** Messages of other programs may have no id. Then the place decides. */
function isSameEvent(one: AmqpMessage, other: AmqpMessage): boolean {
  const [a, b] = [one, other].map(each => headerOf(each, OWN.deadEvent) ?? each.properties.messageId)
  return a === undefined || b === undefined || a === b
}

/** A request without a queue is for the queues of all handlers. */
export function isRequestFor(request: AmqpMessage, queue: string): boolean {
  return (headerOf(request, OWN.unblockQueue) ?? queue) === queue
}

export function placeOf({ properties }: AmqpMessage): number {
  return countOf(properties.headers?.[OWN.place])
}

export function headerOf({ properties }: AmqpMessage, name: string): string | undefined {
  return textOf(properties.headers?.[name])
}

/** An event without a key waits for no other: each has its own line. */
export function lineOf({ event }: RabbitmqDelivery, place: number): string {
  return event?.key === undefined ? `place ${place}` : `key ${event.key}`
}

/** The end of the wait of a message, by a monotonic clock. */
export function dueAtOf({ properties }: AmqpMessage, clock: Clock): number {
  return monotonicNow(clock) + readHeldWaitMs(properties.headers ?? {}, clock.now())
}
