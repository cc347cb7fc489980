import { expect, it } from 'vitest'
import { memoryBroker } from '../../adapters/memory/index.ts'
import type { Broker, SubscriptionStatus } from '../../ports/broker.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { createConsumer } from './consumer.ts'
import { healthReport } from './health.ts'

it('B7: health and observations tell what a broker cannot do; a consumer whose letters are refused pulls no more', async () => {
  const clock = new FakeClock()
  const broker: Broker = memoryBroker({ clock })
  let tell: (news: SubscriptionStatus) => void = () => {}
  const subscribe = broker.subscribe.bind(broker)
  broker.subscribe = (options, deliver, told) => {
    if (told !== undefined) tell = told
    return subscribe(options, deliver)
  }
  const seen: unknown[] = []
  const consumer = createConsumer({
    broker,
    clock,
    channel: 'orders',
    handle: () => {},
    observer: {
      subscriptionStalled: ({ place }) => seen.push(`stalled ${place}`),
      subscriptionRecovered: ({ place }) => seen.push(`recovered ${place}`),
      consumerPaused: ({ reason }) => seen.push(`paused ${reason}`),
      consumerResumed: () => seen.push('resumed'),
    },
  })
  await consumer.start()
  expect(consumer.health().stalls).toBeUndefined()
  tell({ state: 'stalled', place: 'deliveries', error: new Error('nothing comes') })
  expect(consumer.health()).toMatchObject({
    paused: [],
    stalls: [{ place: 'deliveries', problem: 'nothing comes' }],
  })
  expect(healthReport([consumer.health()], 0).status).toBe('DEGRADED')
  tell({ state: 'recovered', place: 'deliveries' })
  tell({ state: 'stalled', place: 'letters', error: new Error('full') })
  tell({ state: 'stalled', place: 'letters', error: new Error('still full') })
  expect(consumer.health()).toMatchObject({
    paused: ['store'],
    stalls: [{ place: 'letters', problem: 'still full' }],
  })
  tell({ state: 'recovered', place: 'letters' })
  expect(consumer.health()).toMatchObject({ paused: [] })
  expect(healthReport([consumer.health()], 0).status).toBe('UP')
  expect(seen).toEqual([
    'stalled deliveries',
    'recovered deliveries',
    'stalled letters',
    'paused store',
    'recovered letters',
    'resumed',
  ])
  await consumer.close()
})
