import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { assigningLast, gateWritesTo } from '../../../test/support/gated-kafka.ts'
import { hasty, kafkaWorld } from '../../../test/support/kafka-world.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import { type Clock, systemClock } from '../../ports/clock.ts'
import { type Inbox, idOf } from '../../testing/conformance/broker/world.ts'
import { TestTiming, uniqueName } from '../../testing/conformance/harness.ts'
import { Fetcher } from './broker/consume/fetcher.ts'
import { HeldTopic } from './broker/ordered/held-topic.ts'
import { KeyOrder } from './broker/ordered/key-order.ts'
import type { KafkaBroker } from './index.ts'

const { found, why, outside, timing, make, open, subscribe, settleNextAsDead } = await kafkaWorld()

const BY_KEY = { ordering: 'by-key' } as const
/** Longer than a consumer needs to leave its group. */
const long = new TestTiming({ quietMs: 1_500 })

/** Longer than any wait in process, so that the event is held. */
const HELD_MS = 1_100

async function retryNext(inbox: Inbox): Promise<void> {
  const notBefore = systemClock.now() + HELD_MS
  await inbox.subscription.settle(await inbox.next(), { outcome: 'retry', notBefore, ended: [] })
}

/** A new consumer handles what is held, and does not read the topic of the channel. */
async function handleHeld(broker: KafkaBroker, channel: string, events: readonly LazaretEvent[]) {
  const reading = vi.spyOn(Fetcher.prototype, 'run').mockImplementation(() => {})
  onTestFinished(() => reading.mockRestore())
  const next = await subscribe(broker, channel, BY_KEY)
  for (const event of events) await next.doneNext(event)
  return { next, reading }
}

describe.runIf(found)(`Kafka from one consumer to the next${why}`, () => {
  // The first crash makes it a suspect, and the second one proves it. One that is held is known to run from then on.
  it.each([
    ['in no order', {}, {}, [0, 0, 2, 3]],
    ['without a key among ordered ones', BY_KEY, {}, [0, 0, 2, 3]],
    ['with a key', BY_KEY, { key: 'a' }, [0, 0, 1, 2]],
  ])(
    'B8: crashes of an event %s are counted while a ledger keeps the claim of its dead process',
    async (_, ordering, key, expected) => {
      const channel = uniqueName('claimed')
      const sessionTimeoutMs = 3_000
      await (await subscribe(open(), channel, ordering)).subscription.close()
      await open().publish([make.event({ channel, ...key })])
      const counted: number[] = []
      for (let run = 0; run < 4; run++) {
        const mortal = gateWritesTo('.held')
        const inbox = await subscribe(open({ client: mortal.client, sessionTimeoutMs }), channel, ordering)
        const claimed = await inbox.next()
        counted.push(claimed.started)
        if (run > 0) await inbox.release(claimed, systemClock.now() + HELD_MS)
        const delivery = run > 0 ? await inbox.next() : claimed
        expect(delivery.started).toBe(claimed.started)
        await inbox.begin(delivery)
        mortal.die()
      }
      expect(counted).toEqual(expected)
    },
  )

  it('B9: events on their way to the held topic are there before the next consumer reads it', async () => {
    const channel = uniqueName('moving')
    const held = gateWritesTo('.held')
    const inbox = await subscribe(open({ client: held.client, clock: hasty }), channel, BY_KEY)
    const broker = open()
    const [dead, ...behind] = make.events(4, { channel, key: 'a' })
    await broker.publish([dead!])
    await settleNextAsDead(inbox)
    held.close()
    await broker.publish(behind)
    await timing.eventually(() => held.waiting > 0, 'the events behind move')
    const closing = inbox.subscription.close()
    const next = await subscribe(broker, channel, BY_KEY)
    await broker.unblockKey(channel, dead!.id, 'bill')
    await long.quiet()
    held.open()
    await closing
    for (const event of behind.slice(0, 2)) await next.doneNext(event)
    await next.subscription.close()
    const last = await subscribe(broker, channel, BY_KEY)
    await last.doneNext(behind[2])
    await last.assertEmpty('an event came twice')
  })

  it('B9: the last commit of a consumer says what it has held until then', async () => {
    const channel = uniqueName('moved')
    const held = gateWritesTo('.held')
    const inbox = await subscribe(open({ client: held.client, clock: hasty }), channel, BY_KEY)
    const broker = open()
    const events = make.events(3, { channel, key: 'a' })
    await broker.publish([events[0]!])
    await retryNext(inbox)
    held.close()
    await broker.publish(events.slice(1))
    await timing.eventually(() => held.waiting > 0, 'the events behind move')
    const closing = inbox.subscription.close()
    held.open()
    await closing
    const { next, reading } = await handleHeld(broker, channel, events)
    await next.subscription.close()
    reading.mockRestore()
    const last = await subscribe(broker, channel, BY_KEY)
    const after = make.event({ channel, key: 'a' })
    await broker.publish([after])
    await last.doneNext(after, 'an event came twice')
  })

  it('B9: an event that is held and not committed when its consumer dies comes once', async () => {
    const channel = uniqueName('uncommitted')
    const mortal = gateWritesTo('.held')
    const sessionTimeoutMs = 3_000
    const inbox = await subscribe(open({ client: mortal.client, sessionTimeoutMs }), channel, BY_KEY)
    const broker = open({ sessionTimeoutMs })
    const event = make.event({ channel, key: 'a' })
    await broker.publish([event])
    await retryNext(inbox)
    mortal.die()
    const { next, reading } = await handleHeld(broker, channel, [event])
    reading.mockRestore()
    next.subscription.resume()
    const after = make.event({ channel, key: 'a' })
    await broker.publish([after])
    await next.doneNext(after, 'an event came twice')
    await timing.eventually(async () => (await broker.depth(channel, 'bill')) === 0, 'nothing is left')
  })

  for (const when of ['after the event is done', 'while the event is handled', 'before the event is read'])
    it(`B9: a state that arrives after its consumer has died, ${when}, leaves nothing`, async () => {
      const channel = uniqueName('late')
      const mortal = gateWritesTo('.held')
      const sessionTimeoutMs = 3_000
      const inbox = await subscribe(open({ client: mortal.client, sessionTimeoutMs }), channel, BY_KEY)
      const broker = open({ sessionTimeoutMs, clock: hasty })
      const event = make.event({ channel, key: 'a' })
      await broker.publish([event])
      mortal.close()
      void retryNext(inbox).catch(() => {})
      await timing.eventually(() => mortal.waiting > 0, 'the state is on its way')
      mortal.dieWithWritesOnTheirWay()
      const reading = vi.spyOn(Fetcher.prototype, 'run')
      onTestFinished(() => reading.mockRestore())
      const looking = vi.spyOn(HeldTopic.prototype, 'late')
      onTestFinished(() => looking.mockRestore())
      const opening = vi.spyOn(HeldTopic.prototype, 'read')
      onTestFinished(() => opening.mockRestore())
      // A busy machine can make the group miss the next consumer too, which then opens the partition again.
      const isFound = () =>
        [...looking.mock.settledResults, ...opening.mock.settledResults].some(
          ({ type, value }) => type === 'fulfilled' && value.length > 0,
        )
      if (when === 'before the event is read') reading.mockImplementation(() => {})
      const next = await subscribe(broker, channel, BY_KEY)
      if (when === 'before the event is read')
        await timing.eventually(() => looking.mock.calls.length > 0, 'the partition is open')
      else {
        const delivery = await next.assertNextIs(event)
        if (when === 'after the event is done') await next.done(delivery)
      }
      mortal.open()
      await timing.eventually(isFound, 'the state is found')
      if (when === 'while the event is handled') await next.done(next.all[0]!)
      reading.mockRestore()
      next.subscription.resume()
      if (when === 'before the event is read') await next.doneNext(event)
      await timing.eventually(async () => (await broker.depth(channel, 'bill')) === 0, 'nothing is left')
      await next.subscription.close()
      const last = await subscribe(broker, channel, BY_KEY)
      await last.assertEmpty('the event came twice')
    })

  it('B9: of many held events that are due at once, the next consumer reads no more than it may deliver', async () => {
    const channel = uniqueName('many')
    const broker = open()
    const inbox = await subscribe(broker, channel, BY_KEY)
    const events = Array.from({ length: 60 }, (_, key) => make.event({ channel, key: String(key) }))
    await broker.publish(events)
    const notBefore = systemClock.now()
    for (const delivery of await inbox.take(60))
      await inbox.subscription.settle(delivery, { outcome: 'retry', notBefore, ended: [] })
    await inbox.take(60)
    await inbox.subscription.close()
    const reads = vi.spyOn(HeldTopic.prototype, 'record')
    const prefetch = 5
    const next = await subscribe(broker, channel, { ...BY_KEY, prefetch })
    const deliveries = await next.take(prefetch)
    await long.quiet()
    // Those that are delivered, and as many that wait for their turn.
    expect(reads.mock.calls.length).toBe(2 * prefetch)
    await next.done(...deliveries)
    for (let handled = prefetch; handled < 60; handled++) await next.done(await next.next())
    await next.assertEmpty('an event came twice')
    expect(new Set(next.all.map(idOf)).size).toBe(60)
  })

  for (const saved of [true, false])
    it(`B9: a key that is unblocked before its event is ${saved ? 'dead' : 'a letter'} is not blocked`, async () => {
      const channel = uniqueName('early')
      const held = gateWritesTo('.held')
      const inbox = await subscribe(open({ client: held.client }), channel, BY_KEY)
      const broker = open()
      const [dead, second] = make.events(2, { channel, key: 'a' })
      await broker.publish([dead!, second!])
      held.close()
      const settling = settleNextAsDead(inbox, saved)
      await timing.eventually(() => held.waiting > 0, 'the key is about to be blocked')
      await broker.unblockKey(channel, dead!.id, 'bill')
      // A record that comes after the request in its topic: when it is delivered, the request was read.
      const other = { key: Buffer.from('b'), value: Buffer.from('{}'), headers: [] }
      await outside!.write([{ topic: `${channel}.bill.retry.0s`, ...other }])
      await inbox.done(await inbox.next())
      held.open()
      await settling
      await inbox.doneNext(second, 'the key stays blocked')
      await timing.eventually(async () => (await broker.depth(channel, 'bill')) === 0, 'nothing is left')
    })

  it('B9: a request to unblock a key counts for an event that stands behind others, as after a lost commit', async () => {
    const channel = uniqueName('behind')
    const broker = open()
    const inbox = await subscribe(broker, channel, BY_KEY)
    const [before, dead, after] = make.events(3, { channel, key: 'a' })
    await broker.publish([before!, dead!, after!])
    const first = await inbox.assertNextIs(before)
    await broker.unblockKey(channel, dead!.id, 'bill')
    // A record that comes after the request in its topic: when it is delivered, the request was read.
    const other = { key: Buffer.from('b'), value: Buffer.from('{}'), headers: [] }
    await outside!.write([{ topic: `${channel}.bill.retry.0s`, ...other }])
    await inbox.done(await inbox.next())
    await inbox.done(first)
    await settleNextAsDead(inbox)
    await inbox.doneNext(after, 'the key stays blocked')
    await timing.eventually(async () => (await broker.depth(channel, 'bill')) === 0, 'nothing is left')
  })

  it('B9: a request to unblock a key that is read before the order is known, and nothing else is to be read', async () => {
    const channel = uniqueName('nobody')
    const broker = open()
    await (await subscribe(broker, channel, BY_KEY)).subscription.close()
    await broker.unblockKey(channel, 'nobody', 'bill')
    expect(await broker.depth(channel, 'bill')).toBe(1)
    const orderRead = Promise.withResolvers<void>()
    const { read } = HeldTopic.prototype
    const reading = vi.spyOn(HeldTopic.prototype, 'read').mockImplementation(async function (
      this: HeldTopic,
      partition,
    ) {
      await orderRead.promise
      return await read.call(this, partition)
    })
    onTestFinished(() => reading.mockRestore())
    const arriving = vi.spyOn(KeyOrder.prototype, 'arrive')
    onTestFinished(() => arriving.mockRestore())
    const client = assigningLast(await outside!.topicId(channel))
    const { subscription } = await subscribe(open({ client }), channel, BY_KEY)
    await timing.eventually(() => {
      subscription.resume()
      return arriving.mock.calls.length > 0
    }, 'the request is read')
    orderRead.resolve()
    await timing.eventually(async () => (await broker.depth(channel, 'bill')) === 0, 'nothing is left')
  })

  it('B9: a consumer whose clock is an hour ahead blocks no key for that long', async () => {
    const channel = uniqueName('ahead')
    const clock: Clock = { ...systemClock, now: () => systemClock.now() + 3_600_000 }
    const ahead = await subscribe(open({ clock }), channel, BY_KEY)
    const broker = open()
    const event = make.event({ channel, key: 'a' })
    await broker.publish([event])
    const retry = { outcome: 'retry', notBefore: clock.now() + 500, ended: [] } as const
    await ahead.subscription.settle(await ahead.assertNextIs(event), retry)
    await ahead.subscription.close()
    const next = await subscribe(broker, channel, BY_KEY)
    await next.doneNext(event, 'the wait is too long')
  })

  it('B9: a request to unblock a key survives the consumer that was about to block it', async () => {
    const channel = uniqueName('survives')
    const held = gateWritesTo('.held')
    // The group misses the dead consumer soon, but none that a busy machine stops for a second.
    const sessionTimeoutMs = 3_000
    const mortal = open({ client: held.client, publishTimeoutMs: 1_000, sessionTimeoutMs })
    const first = await subscribe(mortal, channel, BY_KEY)
    const broker = open({ sessionTimeoutMs })
    const events = make.events(3, { channel, key: 'a' })
    await broker.publish(events)
    await first.doneNext(events[0])
    await timing.eventually(async () => (await broker.depth(channel, 'bill')) === 2, 'it is committed')
    held.close()
    const settling = settleNextAsDead(first).catch(() => {})
    await timing.eventually(() => held.waiting > 0, 'the key is about to be blocked')
    await broker.unblockKey(channel, events[1]!.id, 'bill')
    held.die()
    const next = await subscribe(broker, channel, BY_KEY)
    await settleNextAsDead(next)
    await next.doneNext(events[2], 'the key stays blocked')
    await next.assertEmpty('an event came twice')
    await settling
    await timing.eventually(async () => (await broker.depth(channel, 'bill')) === 0, 'nothing is left')
  })
})
