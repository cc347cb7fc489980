import { describe, expect, it } from 'vitest'
import { ChaosProxy } from '../../../test/chaos/proxy.ts'
import { createNatsWorld, eventually, make, subscribe } from '../../../test/support/nats-world.ts'
import { handleStrangers, strangersMessages } from '../../../test/support/strangers.ts'
import type { Settlement } from '../../ports/broker.ts'
import { uniqueName } from '../../testing/conformance/harness.ts'
import { namesOf, streamsOf, subjectsOf } from './broker/streams/names.ts'

const { service, outside, why, open, mortal } = await createNatsWorld()

const deleteStream = (channel: string) => outside.request(`STREAM.DELETE.${streamsOf(channel).events}`)
const deleteConsumer = (channel: string) =>
  outside.request(`CONSUMER.DELETE.${streamsOf(channel).events}.bill`)

async function unsettled(channel: string): Promise<number> {
  const info = await outside.jetstream.consumerInfo(streamsOf(channel).events, 'bill')
  return info!.num_pending + info!.num_ack_pending
}

async function settleAll(
  { subscription, deliveries }: Pick<Awaited<ReturnType<typeof subscribe>>, 'subscription' | 'deliveries'>,
  count: number,
): Promise<void> {
  await eventually(() => deliveries.length).toBe(count)
  for (const delivery of deliveries) await subscription.settle(delivery, { outcome: 'done' })
}

async function recordedProgress(channel: string): Promise<string> {
  const { streams, stateSubject } = namesOf(channel, 'bill')
  const record = await outside.jetstream.message(streams.state, { last_by_subj: `${stateSubject}.place` })
  return Buffer.from(record?.data ?? []).toString('utf8')
}

async function waitingPulls(channel: string): Promise<number> {
  const info = await outside.request(`CONSUMER.INFO.${streamsOf(channel).events}.bill`)
  return (info as { num_waiting: number }).num_waiting
}

describe.runIf(service !== undefined)(`NATS after streams and consumers were deleted${why}`, () => {
  it('P1: an event of a new stream is not taken for the one that had its place in the old stream', async () => {
    const channel = uniqueName('again')
    const broker = open()
    const { subscription, deliveries, ids } = await subscribe(broker, channel, { prefetch: 1 })
    const [first, second] = make.events(2, { channel })
    await broker.publish([first!])
    await eventually(() => ids()).toEqual([first!.id])
    await deleteStream(channel)
    await broker.publish([second!])
    await subscription.settle(deliveries[0]!, { outcome: 'done' })
    await eventually(() => ids()).toEqual([first!.id, second!.id])
  })

  it('P1: messages without an id are handled although the ledger knows those of a deleted stream with their sequences', async () => {
    const channel = uniqueName('strangers')
    const { consumer, handled, buried } = await handleStrangers(open(), channel)
    const publish = async (first: number) => {
      for (const message of strangersMessages(first, 5))
        await outside.publishJson(`${channel}.x`, Buffer.from(JSON.stringify(message)))
    }
    await publish(1)
    await eventually(buried).toEqual([4, 5])
    await eventually(() => unsettled(channel)).toBe(0)
    await deleteStream(channel)
    const { events } = streamsOf(channel)
    await eventually(async () => (await outside.jetstream.streamInfo(events))?.config.subjects).toEqual([
      subjectsOf(channel).events,
    ])
    await publish(101)
    await eventually(handled).toEqual([1, 2, 3, 4, 5, 101, 102, 103, 104, 105])
    await eventually(buried).toEqual([4, 5, 104, 105])
    await consumer.close()
  })

  it('P1: a consumer that has an event of a deleted stream does not settle that of another consumer', async () => {
    const channel = uniqueName('others')
    const old = await subscribe(open(), channel, { prefetch: 1 })
    const [first, second] = make.events(2, { channel })
    const publisher = open()
    await publisher.publish([first!])
    await eventually(() => old.ids()).toEqual([first!.id])
    old.subscription.pause()
    const { broker, die } = mortal()
    await deleteStream(channel)
    const other = await subscribe(broker, channel, { prefetch: 1 })
    await publisher.publish([second!])
    await eventually(() => other.ids()).toEqual([second!.id])
    old.subscription.resume()
    // The first consumer asks for more: it has noticed that what it has cannot be settled.
    await eventually(() => waitingPulls(channel)).toBe(1)
    await old.subscription.settle(old.deliveries[0]!, { outcome: 'done' })
    await die()
    await eventually(() => old.ids()).toEqual([first!.id, second!.id])
  })

  it('P1: an acknowledgement is not sent again to a stream that was made while the connection was lost', async () => {
    const channel = uniqueName('reconnected')
    const proxy = await ChaosProxy.to(service!.url)
    const broker = open({ ackWaitMs: 30_000, url: proxy.through(service!.url) })
    const { subscription, deliveries, ids } = await subscribe(broker, channel, { prefetch: 1 })
    const [first, second] = make.events(2, { channel })
    await broker.publish([first!])
    await eventually(() => ids()).toEqual([first!.id])
    proxy.isDown = true
    await service!.nodes[0]!.kill()
    await subscription.settle(deliveries[0]!, { outcome: 'done' })
    await service!.nodes[0]!.wipe()
    await service!.nodes[0]!.start()
    const other = open()
    const idle = await subscribe(other, channel)
    idle.subscription.pause()
    await other.publish([second!])
    proxy.isDown = false
    await eventually(() => ids()).toEqual([first!.id, second!.id])
    await broker.close()
    await proxy.close()
  })

  it('P1: a process that only publishes makes a deleted stream with the consumers of all its handlers', async () => {
    const channel = uniqueName('publisher')
    const before = open()
    await subscribe(before, channel)
    await before.close()
    await deleteStream(channel)
    const [event] = make.events(1, { channel })
    await open().publish([event!])
    const { ids } = await subscribe(open(), channel)
    await eventually(() => ids()).toEqual([event!.id])
  })

  it('P1: a stream whose maker died before it was finished is finished by the next process', async () => {
    const channel = uniqueName('half')
    const before = open()
    await subscribe(before, channel)
    await before.close()
    const { events } = streamsOf(channel)
    const { config } = (await outside.jetstream.streamInfo(events))!
    await deleteStream(channel)
    await outside.request(`STREAM.CREATE.${events}`, { ...config, subjects: [`lazaret.making.${events}`] })
    const [event] = make.events(1, { channel })
    await open().publish([event!])
    const { ids } = await subscribe(open(), channel)
    await eventually(() => ids()).toEqual([event!.id])
    const made = await outside.jetstream.streamInfo(events)
    expect(made!.config.subjects).toEqual([subjectsOf(channel).events])
  })

  it('P1: a deleted consumer is made again with the events that another process had not settled', async () => {
    const channel = uniqueName('place')
    const retention = 'limits'
    const { broker, die } = mortal({ retention })
    const idle = await subscribe(open({ retention }), channel)
    idle.subscription.pause()
    const busy = await subscribe(broker, channel, { prefetch: 1 })
    const events = make.events(5, { channel })
    await open({ retention }).publish(events)
    await eventually(() => busy.ids()).toEqual([events[0]!.id])
    const { streams, stateSubject } = namesOf(channel, 'bill')
    await eventually(() => outside.jetstream.countOf(streams.state, `${stateSubject}.place`)).toBe(1)
    await die()
    await deleteConsumer(channel)
    idle.subscription.resume()
    await eventually(() => idle.ids()).toEqual(events.map(({ id }) => id))
  })

  it('P1: a consumer that was deleted while no process ran begins where its handler had come to', async () => {
    const channel = uniqueName('stopped')
    const retention = 'limits'
    const before = open({ retention })
    const first = await subscribe(before, channel)
    const [handled, missed] = make.events(2, { channel })
    await before.publish([handled!])
    await eventually(() => first.ids()).toEqual([handled!.id])
    await first.subscription.settle(first.deliveries[0]!, { outcome: 'done' })
    await before.close()
    await deleteConsumer(channel)
    await open({ retention }).publish([missed!])
    const { ids } = await subscribe(open({ retention }), channel)
    await eventually(() => ids().at(-1)).toBe(missed!.id)
  })

  it('B9: an event of a stream that was made again does not pass one of its key that is being handled', async () => {
    const channel = uniqueName('passing')
    const broker = open()
    const { subscription, deliveries, ids } = await subscribe(broker, channel, { ordering: 'by-key' })
    const [done, running, next] = make.events(3, { channel, key: 'a' })
    await broker.publish([done!, running!])
    await eventually(() => ids()).toEqual([done!.id])
    await subscription.settle(deliveries[0]!, { outcome: 'done' })
    await eventually(() => ids()).toEqual([done!.id, running!.id])
    await deleteStream(channel)
    const [other] = make.events(1, { channel, key: 'b' })
    await broker.publish([next!, other!])
    await eventually(() => ids()).toEqual([done!.id, running!.id, other!.id])
    await subscription.settle(deliveries[1]!, { outcome: 'done' })
    await eventually(() => ids().at(-1)).toBe(next!.id)
  })

  it.each(['the same', 'another'])(
    'B9: a blocked key stays blocked when a killed server counts its stream from 1 again, for %s owner',
    async owner => {
      const channel = uniqueName('blocked')
      const before = open()
      const first = await subscribe(before, channel, { ordering: 'by-key' })
      const events = make.events(5, { channel, key: 'a' })
      await before.publish(events)
      for (const [index, event] of events.entries()) {
        await eventually(() => first.ids().length).toBe(index + 1)
        const letter = make.letter({ event, channel })
        const settlement =
          event === events[4] ? { outcome: 'dead', letter, saved: true } : { outcome: 'done' }
        await first.subscription.settle(first.deliveries[index]!, settlement as Settlement)
      }
      await eventually(() => unsettled(channel)).toBe(0)
      if (owner === 'another') await before.close()
      await service!.nodes[0]!.kill()
      await service!.nodes[0]!.forgetMessages(streamsOf(channel).events)
      await service!.nodes[0]!.start()
      const broker = owner === 'another' ? open() : before
      const now = owner === 'another' ? await subscribe(broker, channel, { ordering: 'by-key' }) : first
      const [next] = make.events(1, { channel, key: 'a' })
      const [other] = make.events(1, { channel, key: 'b' })
      await broker.publish([next!, other!])
      await eventually(() => now.ids().at(-1)).toBe(other!.id)
      expect(now.ids()).not.toContain(next!.id)
      await broker.unblockKey(channel, events[4]!.id)
      await eventually(() => now.ids().at(-1)).toBe(next!.id)
    },
  )

  it.each(['interest', 'limits'] as const)(
    'P1: a killed server that counts an empty stream with the retention %s from 1 again loses no event',
    async retention => {
      const channel = uniqueName('rewound')
      const { events: stream } = streamsOf(channel)
      const broker = open({ retention })
      const { subscription, deliveries, ids } = await subscribe(broker, channel)
      const events = make.events(5, { channel })
      await broker.publish(events)
      await settleAll({ subscription, deliveries }, 5)
      await eventually(() => broker.depth(channel, 'bill')).toBe(0)
      await outside.request(`STREAM.PURGE.${stream}`)
      await service!.nodes[0]!.kill()
      await service!.nodes[0]!.forgetMessages(stream)
      await service!.nodes[0]!.start()
      const [next] = make.events(1, { channel })
      await broker.publish([next!])
      await eventually(() => ids().at(-1)).toBe(next!.id)
      expect(deliveries.at(-1)?.origin['offset']).toBe(1)
    },
  )

  it('P1: every handler of a stream that counts from 1 again gets its next event', async () => {
    const channel = uniqueName('handlers')
    const broker = open()
    const handlers = await Promise.all(
      ['bill', 'ship'].map(handler => subscribe(broker, channel, { handler })),
    )
    await broker.publish(make.events(3, { channel }))
    for (const each of handlers) await settleAll(each, 3)
    await eventually(() => broker.depth(channel, 'bill')).toBe(0)
    await eventually(() => broker.depth(channel, 'ship')).toBe(0)
    await service!.nodes[0]!.kill()
    await service!.nodes[0]!.forgetMessages(streamsOf(channel).events)
    await service!.nodes[0]!.start()
    const [next] = make.events(1, { channel })
    await broker.publish([next!])
    for (const { ids } of handlers) await eventually(() => ids().at(-1)).toBe(next!.id)
  })

  it.each(['the broker', 'another program'])(
    'P1: events that %s publishes to a stream that counts from 1 again are kept while no handler is connected',
    async publisher => {
      const channel = uniqueName('passed')
      const broker = open()
      const before = await subscribe(broker, channel)
      await broker.publish(make.events(5, { channel }))
      await settleAll(before, 5)
      await eventually(() => unsettled(channel)).toBe(0)
      await eventually(() => recordedProgress(channel)).toContain('"settledTo":5')
      await before.subscription.close()
      await service!.nodes[0]!.kill()
      await service!.nodes[0]!.forgetMessages(streamsOf(channel).events)
      await service!.nodes[0]!.start()
      const events = make.events(8, { channel })
      if (publisher === 'the broker') await broker.publish(events)
      else for (const { id } of events) await outside.link.call(`${channel}.x`, '{}', [['ce-id', id]])
      const { ids } = await subscribe(broker, channel)
      await eventually(() => ids().length).toBe(8)
    },
  )

  it('P1: a consumer that was deleted begins with everything if its stream counts from 1 again', async () => {
    const channel = uniqueName('deleted')
    const broker = open()
    const before = await subscribe(broker, channel)
    await broker.publish(make.events(5, { channel }))
    await settleAll(before, 5)
    await eventually(() => recordedProgress(channel)).toContain('"settledTo":5')
    await before.subscription.close()
    await service!.nodes[0]!.kill()
    await service!.nodes[0]!.forgetMessages(streamsOf(channel).events)
    await service!.nodes[0]!.start()
    await deleteConsumer(channel)
    const { ids } = await subscribe(broker, channel)
    const [next] = make.events(1, { channel })
    await broker.publish([next!])
    await eventually(() => ids()).toEqual([next!.id])
  })
})
