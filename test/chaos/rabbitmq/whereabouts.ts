import { heldQueue, suspectsQueue } from '../../../src/adapters/rabbitmq/broker/topology/names.ts'
import type { LazaretEvent } from '../../../src/core/event/event.ts'
import type { RabbitmqAdmin } from '../../support/rabbitmq.ts'

const MOST_EVENTS = 30

/**
 * Says where the events are that are neither handled nor dead. For a campaign that stands still: a running consumer has the
 * messages of the held queue, and most of the queue, so that only their numbers show.
 */
export async function findMissing(
  admin: RabbitmqAdmin,
  queue: string,
  events: readonly LazaretEvent[],
  isOver: (id: string) => boolean,
): Promise<readonly string[]> {
  const missing = events.filter(({ id }) => !isOver(id))
  const places = new Map<string, string>()
  const counts: string[] = []
  for (const name of [queue, suspectsQueue(queue), heldQueue(queue)]) {
    const ready = await admin.peek(name)
    counts.push(`${name}: ${ready.length} ready, ${await admin.consumers(name)} consumers`)
    for (const { properties } of ready) places.set(properties.messageId ?? '', name)
  }
  const lines = missing
    .slice(0, MOST_EVENTS)
    .map(({ id, key }) => `${id} of ${key}: ${places.get(id) ?? 'not ready in any queue'}`)
  return [`${missing.length} events are missing`, ...counts, ...lines]
}
