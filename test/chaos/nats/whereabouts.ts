import { namesOf } from '../../../src/adapters/nats/broker/streams/names.ts'
import { headerText } from '../../../src/adapters/nats/connection/headers.ts'
import type { LazaretEvent } from '../../../src/core/event/event.ts'
import type { OutsideNats } from '../../support/outside-nats.ts'
import { CHANNEL, HANDLER } from '../cluster/plan.ts'

const MOST_EVENTS = 30
const { streams, consumer } = namesOf(CHANNEL, HANDLER)

/** Says where the events are that are neither handled nor dead. For a campaign that stands still. */
export async function findMissing(
  outside: OutsideNats,
  events: readonly LazaretEvent[],
  isOver: (id: string) => boolean,
): Promise<readonly string[]> {
  const missing = events.filter(({ id }) => !isOver(id))
  const places = await placesOf(outside)
  const lines = missing
    .slice(0, MOST_EVENTS)
    .map(({ id, key }) => `${id} of ${key}: ${places.get(id)?.join(', ') ?? 'in no stream'}`)
  return [`${missing.length} events are missing`, ...(await consumers(outside)), ...lines]
}

/** The streams and sequences that have each event. */
async function placesOf(outside: OutsideNats): Promise<ReadonlyMap<string, readonly string[]>> {
  const places = new Map<string, string[]>()
  for (const stream of [streams.events, streams.retries, streams.state])
    for (const { headers, sequence, subject } of await outside.messages(stream)) {
      const id = headerText(headers, 'ce-id')
      if (id !== undefined) places.set(id, [...(places.get(id) ?? []), `${stream}/${sequence} (${subject})`])
    }
  return places
}

async function consumers(outside: OutsideNats): Promise<readonly string[]> {
  const lines: string[] = []
  for (const stream of [streams.events, streams.retries]) {
    const info = await outside.jetstream.consumerInfo(stream, consumer)
    const { num_pending: pending, num_ack_pending: unacknowledged } = info ?? {}
    lines.push(`${stream}: ${pending} not delivered, ${unacknowledged} not acknowledged`)
  }
  return lines
}
