import { describe, expect, it } from 'vitest'
import { hasty, kafkaWorld } from '../../../test/support/kafka-world.ts'
import { handleStrangers, strangersMessages } from '../../../test/support/strangers.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import type { SubscriptionStatus } from '../../ports/broker.ts'
import { createConsumer } from '../../runtime/consumer/consumer.ts'
import { idOf } from '../../testing/conformance/broker/world.ts'
import { uniqueName } from '../../testing/conformance/harness.ts'

const { found, why, outside, timing, make, open, subscribe, settleNextAsDead } = await kafkaWorld()

const BY_KEY = { ordering: 'by-key' } as const

const isHeld = async (channel: string, events: readonly LazaretEvent[]) => {
  const records = await outside!.records(`${channel}.bill.held`)
  return events.every(({ id }) =>
    records.some(({ headers }) => headers.some(([, value]) => value?.toString().includes(id))),
  )
}

const depthIs = (broker: ReturnType<typeof open>, channel: string, depth: number) =>
  timing.eventually(async () => (await broker.depth(channel, 'bill')) === depth, `a depth of ${depth}`)

describe.runIf(found)(`Kafka with topics that are deleted and created again${why}`, () => {
  it.each(['the same', 'another'])(
    'P1, B9: %s owner handles all new events, and blocked keys and held events stay in front',
    async owner => {
      const channel = uniqueName('again')
      const before = open({ clock: hasty })
      const first = await subscribe(before, channel, BY_KEY)
      const a = make.events(6, { channel, key: 'a' })
      const c = make.events(4, { channel, key: 'c' })
      await before.publish(a.slice(0, 5))
      for (const event of a.slice(0, 4)) await first.doneNext(event)
      await settleNextAsDead(first)
      await before.publish(c.slice(0, 3))
      await settleNextAsDead(first)
      await timing.eventually(() => isHeld(channel, c.slice(0, 3)), 'the events behind are held')
      await depthIs(before, channel, 2)
      if (owner === 'another') await before.close()
      await outside!.recreateTopic(channel, 1)
      const broker = owner === 'another' ? open() : before
      const d = make.events(3, { channel, key: 'd' })
      await broker.publish([a[5]!, c[3]!, ...d])
      await depthIs(broker, channel, 2 + 5)
      const inbox = owner === 'another' ? await subscribe(broker, channel, BY_KEY) : first
      for (const event of d) await inbox.doneNext(event, 'an event of a blocked key came first')
      await inbox.assertEmpty('a blocked key is not blocked any more')
      await broker.unblockKey(channel, a[4]!.id)
      await inbox.doneNext(a[5], 'the event behind the dead one does not come')
      await broker.unblockKey(channel, c[0]!.id)
      for (const event of c.slice(1)) await inbox.doneNext(event, 'held events are out of order')
      await inbox.assertEmpty('an event came twice')
      await depthIs(broker, channel, 0)
    },
  )

  it.each(['the same', 'another'])('P1: without order %s consumer handles all new events', async owner => {
    const channel = uniqueName('none')
    const before = open({ partitions: 2 })
    const first = await subscribe(before, channel)
    await before.publish(make.events(20, { channel }))
    await first.done(...(await first.take(20)))
    await depthIs(before, channel, 0)
    if (owner === 'another') await before.close()
    await outside!.recreateTopic(channel, 2)
    const broker = owner === 'another' ? open({ partitions: 2 }) : before
    const events = make.events(5, { channel })
    await broker.publish(events)
    await depthIs(broker, channel, 5)
    const inbox = owner === 'another' ? await subscribe(broker, channel) : first
    await inbox.done(...(await inbox.assertNext(events)))
    await depthIs(broker, channel, 0)
  })

  it('P1: an event of the deleted topic whose handler is slow is not lost', async () => {
    const channel = uniqueName('slow')
    const broker = open({ drainMs: 200 })
    const inbox = await subscribe(broker, channel)
    const [slow, next] = make.events(2, { channel })
    await broker.publish([slow!])
    await inbox.begin(await inbox.assertNextIs(slow))
    await outside!.recreateTopic(channel, 1)
    await broker.publish([next!])
    await inbox.done(...(await inbox.assertNext([slow!, next!])))
    await depthIs(broker, channel, 0)
  })

  it('B9: a new event waits for the one of its key that is being handled since before', async () => {
    const channel = uniqueName('passing')
    const broker = open({ drainMs: 200 })
    const inbox = await subscribe(broker, channel, BY_KEY)
    const [slow, next] = make.events(2, { channel, key: 'a' })
    await broker.publish([slow!])
    await inbox.assertNextIs(slow)
    await outside!.recreateTopic(channel, 1)
    await broker.publish([next!])
    await inbox.doneNext(slow, 'the new event came first')
    await inbox.doneNext(next)
    await depthIs(broker, channel, 0)
  })

  it('F6: a consumer reports the topic that was created again until it reads it', async () => {
    const channel = uniqueName('told')
    const broker = open()
    const stalls: string[] = []
    const handled: string[] = []
    const consumer = createConsumer({
      broker,
      channel,
      name: 'bill',
      handle: ({ id }) => void handled.push(id),
      observer: {
        subscriptionStalled: ({ place, error }) => stalls.push(`${place} ${error}`),
        subscriptionRecovered: ({ place }) => stalls.push(`${place} recovered`),
      },
    })
    await consumer.start()
    const [first, second] = make.events(2, { channel })
    await broker.publish([first!])
    await timing.eventually(() => handled.length === 1, 'the first event')
    await outside!.recreateTopic(channel, 1)
    await broker.publish([second!])
    await timing.eventually(() => handled.includes(second!.id), 'the second event')
    await timing.eventually(() => consumer.health().stalls === undefined, 'the stall is over')
    expect(stalls).toContainEqual(
      expect.stringContaining(
        `deliveries TopicRecreatedError: topic '${channel}': was deleted and created again`,
      ),
    )
    expect(stalls.at(-1)).toBe('deliveries recovered')
    await consumer.close()
  })

  it('P1: a record of another program has another id than that in the same place of the deleted topic', async () => {
    const channel = uniqueName('foreign')
    const broker = open()
    const inbox = await subscribe(broker, channel, BY_KEY)
    const record = { topic: channel, key: Buffer.from('a'), value: Buffer.from('{}'), headers: [] }
    await outside!.write([record])
    const old = await inbox.next()
    await inbox.subscription.settle(old, { outcome: 'dead', letter: make.letter({ channel }), saved: true })
    await outside!.recreateTopic(channel, 1)
    await outside!.write([record, { ...record, key: Buffer.from('b') }])
    const other = await inbox.next()
    expect(other.origin['offset']).toBe(1)
    await inbox.assertEmpty('the record was taken for the dead one')
    await broker.unblockKey(channel, idOf(old))
    const next = await inbox.next()
    expect(next.origin['offset']).toBe(0)
    expect(idOf(next)).not.toBe(idOf(old))
  })

  it('P1: records without an id are handled although the ledger knows those of a deleted topic in their places', async () => {
    const channel = uniqueName('strangers')
    const broker = open()
    const { consumer, handled, buried } = await handleStrangers(broker, channel)
    const write = async (first: number) => {
      for (const message of strangersMessages(first, 5))
        await outside!.writeJson(channel, Buffer.from(JSON.stringify(message)))
    }
    await write(1)
    await timing.eventually(async () => (await buried()).length === 2, 'the letters of the first topic')
    await depthIs(broker, channel, 0)
    await outside!.recreateTopic(channel, 1)
    await write(101)
    await timing.eventually(async () => (await buried()).length === 4, 'the letters of the second topic')
    await depthIs(broker, channel, 0)
    expect(handled()).toEqual([1, 2, 3, 4, 5, 101, 102, 103, 104, 105])
    expect(await buried()).toEqual([4, 5, 104, 105])
    await consumer.close()
  })

  it('B3: retries arrive in a retry topic that was created again', async () => {
    const channel = uniqueName('retries')
    const broker = open({ retryStepsMs: [1_000] })
    const inbox = await subscribe(broker, channel)
    const retry = async (count: number) => {
      const events = make.events(count, { channel })
      await broker.publish(events)
      for (const delivery of await inbox.take(count)) {
        await inbox.begin(delivery)
        await inbox.retry(delivery, timing.now() + 1_000)
      }
      await inbox.done(...(await inbox.assertNext(events)))
      await depthIs(broker, channel, 0)
    }
    await retry(5)
    await outside!.recreateTopic(`${channel}.bill.retry.1s`, 1)
    await retry(2)
  })

  it('B7: letters arrive in a dead-letter topic that was created again', async () => {
    const channel = uniqueName('letters')
    const broker = open()
    const inbox = await subscribe(broker, channel)
    await broker.publish(make.events(2, { channel }))
    await settleNextAsDead(inbox, false)
    await outside!.recreateTopic(`${channel}.bill.dlq`, 1)
    await settleNextAsDead(inbox, false)
    expect(await outside!.letters(`${channel}.bill.dlq`)).toHaveLength(1)
    expect(await broker.deadLetterDepths(channel, 'bill')).toMatchObject([{ depth: 1 }])
  })

  it('B9: a held topic that was created again loses its waiting events, reports them, and keeps keys blocked', async () => {
    const channel = uniqueName('held')
    const broker = open({ clock: hasty })
    const statuses: SubscriptionStatus[] = []
    const inbox = await subscribe(broker, channel, BY_KEY, status => statuses.push(status))
    const z = make.events(2, { channel, key: 'z' })
    const a = make.events(3, { channel, key: 'a' })
    await broker.publish([z[0]!])
    await settleNextAsDead(inbox)
    await broker.publish(a.slice(0, 2))
    await settleNextAsDead(inbox)
    await timing.eventually(() => isHeld(channel, a.slice(0, 2)), 'the event behind is held')
    await depthIs(broker, channel, 1)
    await outside!.recreateTopic(`${channel}.bill.held`, 1)
    await broker.unblockKey(channel, a[0]!.id, 'bill')
    await timing.eventually(() => statuses.some(({ state }) => state === 'removed'), 'the loss is reported')
    expect(statuses).toContainEqual({ state: 'removed', rows: 1, partitions: 0 })
    await broker.publish([a[2]!])
    await inbox.doneNext(a[2], 'the key waits for the lost event')
    await inbox.subscription.close()
    const next = await subscribe(broker, channel, BY_KEY)
    const other = make.event({ channel, key: 'b' })
    await broker.publish([z[1]!, other])
    await next.doneNext(other, 'the key is not blocked any more')
    await broker.unblockKey(channel, z[0]!.id, 'bill')
    await next.doneNext(z[1])
  })
})
