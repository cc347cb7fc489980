import { describe, expect, it } from 'vitest'
import { StallReporter } from '../../../../adapter-kit/delivery/stalls.ts'
import type { SubscriptionStatus } from '../../../../ports/broker.ts'
import { FakeClock } from '../../../../testing/fake-clock.ts'
import { seededRandom } from '../../../../testing/seeded-random.ts'
import type { StoredMessage } from '../../connection/jetstream.ts'
import type { SubscriptionContext } from '../consume/context.ts'
import type { NatsDelivery } from '../consume/entry.ts'
import { namesOf } from '../streams/names.ts'
import { OWN } from '../wire/headers.ts'
import { KeyOrder } from './key-order.ts'

const NAMES = namesOf('orders', 'bill')

/** A held event of each key, whose time has come. */
function heldEvents(count: number): StoredMessage[] {
  return Array.from({ length: count }, (_, at) => ({
    subject: `${NAMES.stateSubject}.waiting.held${at}`,
    sequence: at + 1,
    headers: [[OWN.held, JSON.stringify({ line: `key ${at}`, place: at + 1, id: `id${at}` })]],
    data: Buffer.from('{}'),
    storedAt: 1,
  }))
}

/** An owner of the order. The state stream has these messages, and the stream of the channel is empty. */
function world(state: readonly StoredMessage[], prefetch: number) {
  const clock = new FakeClock()
  const deliveries: NatsDelivery[] = []
  const statuses: SubscriptionStatus[] = []
  /** Requests for the message of one held event, which the test answers. */
  const loads: { readonly sequence: number; answer(): void }[] = []
  const connection = {
    subscribe: () => ({ drain: async () => {}, unsubscribe: () => {} }),
    publish: () => {},
  }
  const context = {
    id: 'us',
    publisher: { publish: async () => [1] },
    settings: { clock, random: seededRandom(1), name: 'nats' },
    names: NAMES,
    prefetch,
    ackWaitMs: 30_000,
    stalls: new StallReporter(status => statuses.push(status)),
    link: {
      current: undefined,
      onUp: () => () => {},
      newInbox: () => 'inbox',
      get: async () => connection,
      send: () => {},
    },
    streams: {
      onMadeAgain: () => () => {},
      createdAt: () => undefined,
      name: () => NAMES.streams.state,
      examine: async () => ({ createdAt: 0, firstSequence: 1, firstStoredAt: undefined, lastSequence: 0 }),
    },
    jetstream: {
      consumerInfo: async () => ({ num_ack_pending: 0, delivered: { consumer_seq: 0 } }),
      streamInfo: async () => undefined,
      deleteMessage: async () => {},
      message: async (_: string, { seq, next_by_subj }: { seq?: number; next_by_subj?: string }) => {
        if (seq === undefined) return undefined
        if (next_by_subj?.includes('.dead.')) return undefined
        if (next_by_subj !== undefined) return state[seq - 1]
        const { promise, resolve } = Promise.withResolvers<void>()
        loads.push({ sequence: seq, answer: resolve })
        await promise
        return state[seq - 1]
      },
    },
    persist: async (_: () => boolean, __: string, work: () => Promise<void>) => {
      await work()
      return true
    },
    deliver: (delivery: NatsDelivery) => deliveries.push(delivery),
  } as unknown as SubscriptionContext
  const order = new KeyOrder(context, false, () => true)
  return { clock, order, loads, deliveries, statuses }
}

describe('KeyOrder with held events', () => {
  it('"bounded everywhere": of many held events that are due, no more are fetched than may be delivered', async () => {
    const { clock, order, loads, deliveries } = world(heldEvents(1_000), 10)
    await order.open()
    order.resume()
    await clock.advance(1)
    expect(loads).toHaveLength(10)
    for (const { answer } of loads.splice(0, 4)) answer()
    await clock.advance(1)
    expect([deliveries.length, loads.length]).toEqual([4, 6])
    void order.settle(deliveries[0]!, { outcome: 'done' })
    await clock.advance(1)
    expect(loads).toHaveLength(7)
  })

  it('B9: a consumer that is resumed while its order is read asks for nothing before that is known', async () => {
    const { clock, order, loads } = world(heldEvents(1), 10)
    const opening = order.open()
    order.resume()
    await opening
    await clock.advance(1)
    expect(loads).toHaveLength(0)
    order.resume()
    await clock.advance(1)
    expect(loads).toHaveLength(1)
  })

  it('E21: a held event that somebody has deleted is reported', async () => {
    const state = heldEvents(1)
    const { clock, order, loads, statuses } = world(state, 10)
    await order.open()
    order.resume()
    await clock.advance(1)
    state.length = 0
    for (const { answer } of loads) answer()
    await clock.advance(1)
    expect(statuses).toEqual([{ state: 'removed', rows: 1, partitions: 0 }])
  })
})
