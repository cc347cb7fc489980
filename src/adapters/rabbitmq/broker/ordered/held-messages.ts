import type { AmqpMessage } from '../../connection/amqp.ts'
import type { RabbitmqDelivery } from '../consume/delivery.ts'
import { countOf, OWN, textOf } from '../wire/headers.ts'

/**
 * What a new owner finds in the held queue. The server gives a consumer a limited number of unsettled messages, so all that
 * is superseded is settled while it is read.
 */
export class HeldMessages {
  /** The newest copy of each event or mark, by its place. */
  readonly newest = new Map<number, AmqpMessage>()
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
    const deadId = headerOf(message, OWN.deadEvent)
    if (deadId === undefined) this.#liveIds.add(message.properties.messageId)
    else this.#marks.set(deadId, place)
    return older === undefined ? [] : [older]
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
    if (!this.#liveIds.has(id)) return [request]
    this.requests.push(request)
    return []
  }
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
