import { describe, expect, it } from 'vitest'
import { createNatsWorld, eventually, make, subscribe } from '../../../test/support/nats-world.ts'
import { systemClock } from '../../ports/clock.ts'
import { uniqueName } from '../../testing/conformance/harness.ts'
import { streamsOf } from './broker/streams/names.ts'

const { service, outside, why, open, isAtLeast } = await createNatsWorld()
const MINE = { declare: 'none', retention: 'limits' } as const

/** A handler that declares nothing has settled 5 events of a stream that an operator has made. */
async function settleFive(channel: string) {
  const operator = open({ retention: 'limits' })
  await (await subscribe(operator, channel)).subscription.close()
  const broker = open(MINE)
  const subscribed = await subscribe(broker, channel)
  await broker.publish(make.events(5, { channel }))
  await eventually(() => subscribed.deliveries.length).toBe(5)
  for (const delivery of subscribed.deliveries)
    await subscribed.subscription.settle(delivery, { outcome: 'done' })
  await eventually(() => broker.depth(channel, 'bill')).toBe(0)
  return { broker, ...subscribed }
}

async function configs(stream: string) {
  const info = await outside.jetstream.streamInfo(stream)
  const consumer = await outside.jetstream.consumerInfo(stream, 'bill')
  return { stream: info!.config, consumer: consumer!.config }
}

/** What an operator does with the tools of NATS. */
async function makeConsumer(stream: string, config: object): Promise<void> {
  // Two consumers that were made within a second are taken for one.
  const found = await outside.jetstream.consumerInfo(stream, 'bill')
  await eventually(() => systemClock.now() - Date.parse(found?.created ?? '0')).toBeGreaterThan(1_500)
  await outside.request(`CONSUMER.DELETE.${stream}.bill`)
  await outside.jetstream.createConsumer(stream, { ...config, durable_name: 'bill' } as never)
}

/** Newer servers set a consumer back that is ahead of a lost stream. Older ones let no consumer begin after the end of its stream. */
async function putAhead(stream: string): Promise<void> {
  if (!isAtLeast('2.14')) {
    await service!.nodes[0]!.stop()
    await service!.nodes[0]!.forgetMessages(stream)
    await service!.nodes[0]!.start()
    return
  }
  const { stream: config, consumer } = await configs(stream)
  await outside.request(`STREAM.DELETE.${stream}`)
  await outside.request(`STREAM.CREATE.${stream}`, config)
  // The place that the old consumer had.
  await makeConsumer(stream, { ...consumer, deliver_policy: 'by_start_sequence', opt_start_seq: 6 })
}

const REPORT = {
  state: 'stalled',
  place: 'deliveries',
  error: { code: 'LAZARET_TOPOLOGY_MISMATCH', message: expect.stringMatching(/bill.*delete the consumer/) },
}

describe.runIf(service !== undefined)(`NATS with streams that only an operator declares${why}`, () => {
  it('P1: a stream that an operator deletes and makes again delivers its events from the first one', async () => {
    const channel = uniqueName('operated')
    const { events: stream } = streamsOf(channel)
    const { broker, ids } = await settleFive(channel)
    const { stream: config, consumer } = await configs(stream)
    await outside.request(`STREAM.DELETE.${stream}`)
    await outside.request(`STREAM.CREATE.${stream}`, config)
    await makeConsumer(stream, consumer)
    const [next] = make.events(1, { channel })
    await broker.publish([next!])
    await eventually(() => ids().at(-1)).toBe(next!.id)
  })

  it.each([
    ['runs', 'none'],
    ['starts later', 'none'],
    ['starts later', 'by-key'],
  ] as const)(
    'P1: a consumer that is ahead of its stream is reported by a process that %s, with ordering %s, which gets later events until an operator makes it again',
    async (when, ordering) => {
      const channel = uniqueName('ahead')
      const { events: stream } = streamsOf(channel)
      const before = await settleFive(channel)
      const { consumer } = await configs(stream)
      if (when === 'starts later') await before.broker.close()
      await putAhead(stream)
      const broker = when === 'runs' ? before.broker : open(MINE)
      const { ids, statuses } = when === 'runs' ? before : await subscribe(broker, channel, { ordering })
      const events = make.events(8, { channel })
      await broker.publish(events.slice(0, 3))
      await eventually(() => statuses.at(-1)).toMatchObject(REPORT)
      await broker.publish(events.slice(3))
      await eventually(() => ids()).toContain(events[7]!.id)
      await makeConsumer(stream, { ...consumer, deliver_policy: 'all' })
      await eventually(() => new Set(ids())).toEqual(
        new Set([...(when === 'runs' ? before.ids().slice(0, 5) : []), ...events.map(({ id }) => id)]),
      )
      await eventually(() => statuses.at(-1)).toEqual({ state: 'recovered', place: 'deliveries' })
    },
  )
})
