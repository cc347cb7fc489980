import { describe, expect, it } from 'vitest'
import { StallReporter } from '../../../../adapter-kit/delivery/stalls.ts'
import type { SubscriptionStatus } from '../../../../ports/broker.ts'
import { FakeClock } from '../../../../testing/fake-clock.ts'
import { seededRandom } from '../../../../testing/seeded-random.ts'
import type { SubscriptionContext } from '../consume/context.ts'
import type { Entry } from '../consume/entry.ts'
import { namesOf } from '../streams/names.ts'
import type { StreamMessage } from '../wire/message.ts'
import { Completeness } from './completeness.ts'

const ACK_WAIT_MS = 1_000

/** A server with so many unsettled deliveries, and what a new owner has received of them. */
function world() {
  const clock = new FakeClock()
  const entries: Entry[] = []
  const statuses: SubscriptionStatus[] = []
  const server = {
    num_ack_pending: 0,
    delivered: { consumer_seq: 0, stream_seq: Number.POSITIVE_INFINITY },
    answer: Promise.resolve(),
    isRemaking: false,
  }
  const context = {
    settings: { clock, random: seededRandom(1) },
    names: namesOf('orders', 'bill'),
    ackWaitMs: ACK_WAIT_MS,
    stalls: new StallReporter(status => statuses.push(status)),
    jetstream: {
      consumerInfo: async () => {
        const counted = { num_ack_pending: server.num_ack_pending, delivered: { ...server.delivered } }
        await server.answer
        return counted
      },
    },
  } as unknown as SubscriptionContext
  const completeness = new Completeness(context, {
    entries: () => entries,
    isRemaking: () => server.isRemaking,
    changed: () => {},
  })
  const receive = (deliverySequence: number, deliveries = 1) => {
    const ackSubject = `$JS.ACK.ORDERS.bill.${deliveries}.${deliverySequence}.${deliverySequence}.1.0`
    entries.push({ source: 'events', ackSubject } as Entry)
    completeness.received({ deliverySequence, deliveries } as StreamMessage)
  }
  return { clock, server, statuses, completeness, receive }
}

describe('Completeness', () => {
  it('B9: events that come after the server has counted do not stand for one that is elsewhere', async () => {
    const { clock, server, completeness, receive } = world()
    server.num_ack_pending = 1
    server.delivered.consumer_seq = 1
    const { promise, resolve } = Promise.withResolvers<void>()
    server.answer = promise
    completeness.start()
    await clock.advance(1)
    receive(2)
    resolve()
    await clock.advance(0)
    expect(completeness.isComplete).toBe(false)
    server.num_ack_pending = 2
    server.delivered.consumer_seq = 3
    receive(3, 2)
    await clock.advance(ACK_WAIT_MS)
    expect(completeness.isComplete).toBe(true)
  })

  it('B9: a delivery that is lost is noticed after the consumer was made again and counts from 1', async () => {
    const { clock, server, completeness, receive } = world()
    completeness.start()
    await clock.advance(1)
    expect(completeness.isComplete).toBe(true)
    for (let sequence = 1; sequence <= 10; sequence++) receive(sequence)
    expect(completeness.isComplete).toBe(true)
    server.num_ack_pending = 1
    server.delivered.consumer_seq = 1
    receive(1)
    await clock.advance(ACK_WAIT_MS)
    expect(completeness.isComplete).toBe(true)
    receive(3)
    expect(completeness.isComplete).toBe(false)
  })

  it('B9: an event of a consumer that is made again waits until the new one has delivered everything before it', async () => {
    const { clock, server, completeness, receive } = world()
    server.isRemaking = true
    completeness.start()
    receive(2)
    await clock.advance(ACK_WAIT_MS)
    expect(completeness.isComplete).toBe(false)
    server.isRemaking = false
    server.delivered.stream_seq = 0
    await clock.advance(ACK_WAIT_MS)
    expect(completeness.isComplete).toBe(false)
    receive(1)
    receive(2)
    server.num_ack_pending = 2
    server.delivered = { consumer_seq: 2, stream_seq: 2 }
    await clock.advance(ACK_WAIT_MS)
    expect(completeness.isComplete).toBe(true)
  })

  it('E21: an event that does not come back is reported, until it comes', async () => {
    const { clock, server, statuses, completeness, receive } = world()
    server.num_ack_pending = 1
    server.delivered.consumer_seq = 1
    completeness.start()
    await clock.advance(2 * ACK_WAIT_MS)
    expect(statuses).toEqual([])
    await clock.advance(2 * ACK_WAIT_MS)
    expect(statuses).toMatchObject([{ state: 'stalled', place: 'deliveries' }])
    server.delivered.consumer_seq = 2
    receive(2, 2)
    await clock.advance(ACK_WAIT_MS)
    expect(statuses.at(-1)).toMatchObject({ state: 'recovered', place: 'deliveries' })
  })

  it('B9: while an event is missing, each look asks for a few more, and for more only when lost ones come', async () => {
    const { clock, server, completeness, receive } = world()
    server.num_ack_pending = 1_000
    completeness.start()
    await clock.advance(1)
    const search = completeness.searchRoom
    expect(search).toBeGreaterThan(0)
    receive(1)
    expect(completeness.searchRoom).toBe(search - 1)
    receive(2, 2)
    expect(completeness.searchRoom).toBe(search - 1)
  })

  it('"bounded everywhere": the search for a missing event does not go on for thousands of others', async () => {
    const { clock, server, completeness, receive } = world()
    server.num_ack_pending = 100_000
    completeness.start()
    let received = 0
    for (let looks = 0; looks < 200; looks++) {
      await clock.advance(1_000)
      while (completeness.searchRoom > 0) receive(++received)
    }
    expect(received).toBeLessThan(1_500)
    // One is enough to bring the missing ones: the server delivers them before anything new.
    expect(received).toBeGreaterThan(1_000)
  })

  it('B9: a gap that shows while the answer of the server is on its way counts', async () => {
    const { clock, server, completeness, receive } = world()
    server.delivered.consumer_seq = 10
    const { promise, resolve } = Promise.withResolvers<void>()
    server.answer = promise
    completeness.start()
    await clock.advance(1)
    // The 11th went to a request of the owner before.
    receive(12)
    server.num_ack_pending = 2
    server.delivered.consumer_seq = 12
    resolve()
    await clock.advance(0)
    expect(completeness.isComplete).toBe(false)
    await clock.advance(5_000)
    expect(completeness.isComplete).toBe(false)
    server.delivered.consumer_seq = 13
    receive(13, 2)
    await clock.advance(5_000)
    expect(completeness.isComplete).toBe(true)
  })
})
