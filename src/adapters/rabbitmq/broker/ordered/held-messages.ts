import type { AmqpMessage } from '../../connection/amqp.ts'
import type { RabbitmqDelivery } from '../consume/delivery.ts'
import { countOf, OWN, textOf } from '../wire/headers.ts'

/** What a new owner finds in the held queue. */
interface HeldMessages {
  /** The newest copy of each event or mark, by its place. */
  readonly newest: ReadonlyMap<number, AmqpMessage>
  /** Copies that a newer one has replaced. */
  readonly older: readonly AmqpMessage[]
  /** Requests to unblock a key. */
  readonly requests: readonly AmqpMessage[]
}

export function sortHeld(messages: readonly AmqpMessage[]): HeldMessages {
  const newest = new Map<number, AmqpMessage>()
  const older: AmqpMessage[] = []
  const requests: AmqpMessage[] = []
  for (const message of messages) {
    if (headerOf(message, OWN.unblockKey) !== undefined) requests.push(message)
    else {
      const place = placeOf(message)
      const before = newest.get(place)
      if (before !== undefined) older.push(before)
      newest.set(place, message)
    }
  }
  return { newest, older, requests }
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
