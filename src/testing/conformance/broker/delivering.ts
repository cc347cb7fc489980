import assert from 'node:assert/strict'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { sortedIds } from '../harness.ts'
import { unwritablePayloads } from '../unwritable.ts'
import { type BrokerConformance, inWorld, inWorldWith } from './suite.ts'
import { counts, eventOf, idsOf } from './world.ts'

/** Published events arrive complete, in order, at every handler, and within the prefetch. */
export function deliveringTests(suite: BrokerConformance): void {
  const it = inWorld(suite)
  // A broker in memory keeps events as objects and serialises nothing.
  const itDurable = inWorldWith(suite, 'durable')

  it('E21: the broker has the declared capabilities', async ({ broker }) => {
    assert.deepEqual({ ...broker.capabilities }, { ...suite.declares })
    assert.notEqual(broker.name, '')
  })

  it('E9: an event arrives complete, with a payload of JSON or bytes', async world => {
    const events = [
      world.make.event({
        channel: world.channel,
        payload: { text: 'žluťoučký 🐎', list: [1, null, { a: [] }] },
      }),
      world.make.event({ channel: world.channel, payload: new Uint8Array([0, 1, 127, 128, 255]) }),
      world.make.event({
        channel: world.channel,
        key: 'customer-1',
        idempotencyKey: 'charge-1',
        expiresAt: world.timing.now() + 3_600_000,
        source: '/shop',
        headers: { 'x-trace': 'a b', 'x-empty': '' },
        payload: 'just text',
      }),
    ]
    const inbox = await world.subscribe()
    await world.broker.publish(events)
    const deliveries = await inbox.take(events.length)
    const received = deliveries.map(eventOf)
    // Partitions have no order between them.
    if (suite.sharesPartitions) received.sort((a, b) => a.id.localeCompare(b.id))
    assert.deepEqual(received, events)
    assert(deliveries.every(delivery => delivery.channel === world.channel))
  })

  itDurable(
    'publish: an event that JSON cannot write is refused permanently, and the next one arrives',
    async world => {
      const inbox = await world.subscribe()
      for (const [what, payload] of Object.entries(unwritablePayloads())) {
        const event = { ...world.make.event({ channel: world.channel }), payload }
        const refused = { code: 'LAZARET_EVENT_INVALID', retryable: false }
        await assert.rejects(async () => world.broker.publish([event]), refused, what)
      }
      const [good] = await world.publish(1)
      await inbox.assertNextIs(good)
    },
  )

  it('F3: publish: a channel that is not a name for queues, topics and files is refused permanently', async world => {
    const refused = { code: 'LAZARET_EVENT_INVALID', retryable: false }
    for (const channel of ['', 'my orders', '../orders', 'orders.', 'a'.repeat(121)]) {
      const event = { ...world.make.event({ channel: world.channel }), channel }
      await assert.rejects(async () => world.broker.publish([event]), refused, channel)
    }
    const inbox = await world.subscribe()
    const [good] = await world.publish(1)
    await inbox.assertNextIs(good)
  })

  it('B8: the first delivery of an event has no attempts', async world => {
    const { delivery } = await world.deliverOne()
    assert.deepEqual(counts(delivery), [0, 0, []])
  })

  it('publish: events arrive in order, within a call and across calls', async world => {
    const inbox = await world.subscribe({ prefetch: 200 })
    const events = [...(await world.publish(50)), ...(await world.publish(1)), ...(await world.publish(50))]
    for (const event of events) await inbox.assertNextIs(event)
  })

  it('publish: an empty list is accepted', async ({ broker }) => {
    await broker.publish([])
  })

  it('publish: an event without a subscription waits for the next one', async world => {
    await world.registerHandler()
    const [event] = await world.publish(1)
    const inbox = await world.subscribe()
    await inbox.assertNextIs(event)
  })

  it('publish: a channel gets only its own events', async world => {
    const inbox = await world.subscribe()
    await world.broker.publish([world.make.event({ channel: `${world.channel}-other` })])
    const [event] = await world.publish(1)
    await inbox.assertNextIs(event)
    await inbox.assertEmpty('an event of another channel arrived')
  })

  it('subscribe: no delivery arrives before the subscription resolves', async world => {
    await world.registerHandler()
    await world.publish(3)
    const inbox = await world.subscribe()
    await inbox.take(3)
    assert.equal(inbox.wasEarly, false)
  })

  it('subscribe: every handler gets every event once', async world => {
    const bill = await world.subscribe({ handler: 'bill' })
    const ship = await world.subscribe({ handler: 'ship' })
    const events = await world.publish(5)
    for (const inbox of [bill, ship]) {
      await inbox.done(...(await inbox.assertNext(events)))
    }
    await bill.assertEmpty('an event arrived twice')
    await ship.assertEmpty('an event arrived twice')
  })

  const { sharesPartitions } = suite
  const itSharesEvents = inWorld(suite, sharesPartitions ? 'subscriptions share partitions' : undefined)
  const itSharesPartitions = inWorld(
    suite,
    sharesPartitions ? undefined : 'subscriptions share single events',
  )

  itSharesPartitions('subscribe: subscriptions of one handler share its partitions', async world => {
    const inboxes = [await world.subscribe(), await world.subscribe()]
    const events: LazaretEvent[] = []
    await world.timing.eventually(async () => {
      for (let count = 0; count < 8; count++)
        events.push(...(await world.publish(1, { key: `key-${events.length}` })))
      const received = () => new Set(inboxes.flatMap(({ all }) => idsOf(all)))
      await world.timing.eventually(() => received().size === events.length, 'every event')
      // A delivery is lost if its partition goes to the other subscription meanwhile.
      for (const inbox of inboxes)
        for (const delivery of await inbox.take(inbox.waiting)) await inbox.done(delivery).catch(() => {})
      return inboxes.every(({ all }) => all.length > 0)
    }, 'both subscriptions have a partition')
  })

  itSharesEvents('subscribe: subscriptions of one handler share its events', async world => {
    const first = await world.subscribe({ prefetch: 2 })
    const second = await world.subscribe({ prefetch: 2 })
    const events = await world.publish(4)
    const deliveries = [...(await first.take(2)), ...(await second.take(2))]
    assert.deepEqual(idsOf(deliveries).sort(), sortedIds(events))
    await first.assertEmpty('more than the prefetch is open')
    await second.assertEmpty('more than the prefetch is open')
  })

  it('prefetch: at most this many deliveries are open, and each settlement admits one more', async world => {
    const inbox = await world.subscribe({ prefetch: 3 })
    await world.publish(5)
    const [first, second, third] = await inbox.take(3)
    await inbox.assertEmpty('a fourth delivery is open')
    await inbox.done(second!)
    const fourth = await inbox.next()
    await inbox.assertEmpty('settling one let two in')
    await inbox.retry(first!, world.timing.now() + 3_600_000)
    await inbox.done(third!, fourth, await inbox.next())
  })

  it('B6: pause stops new deliveries and keeps open ones, resume continues, and both can be repeated', async world => {
    const inbox = await world.subscribe({ prefetch: 1 })
    await world.publish(2)
    const first = await inbox.next()
    inbox.subscription.pause()
    inbox.subscription.pause()
    await inbox.done(first)
    await inbox.assertEmpty('a delivery arrived while paused')
    inbox.subscription.resume()
    inbox.subscription.resume()
    await inbox.done(await inbox.next())
    await inbox.assertEmpty('resuming twice delivered twice')
  })

  it('B6: what is open during a pause and settled after it is not delivered again', async world => {
    const inbox = await world.subscribe({ prefetch: 3 })
    await world.publish(2)
    const open = [await inbox.next(), await inbox.next()]
    inbox.subscription.pause()
    await world.timing.quiet()
    inbox.subscription.resume()
    const [third] = await world.publish(1)
    const next = await inbox.next()
    assert.equal(eventOf(next).id, third!.id, 'a delivery that was open came again')
    await inbox.done(...open, next)
    await inbox.assertEmpty('a settled delivery came again')
  })

  it('B6: events that are published during a pause arrive after resume', async world => {
    const inbox = await world.subscribe()
    inbox.subscription.pause()
    await world.timing.quiet()
    const events = await world.publish(3)
    await inbox.assertEmpty('a delivery arrived while paused')
    inbox.subscription.resume()
    await inbox.assertNext(events)
  })
}

/** Messages of other programs that are not events. */
export function undecodableTests(suite: BrokerConformance): void {
  const it = inWorld(suite, suite.canPublishRaw ? undefined : 'the fixture has no publishRaw')

  it('P2: an undecodable message arrives complete and can be settled', async world => {
    const raw = new TextEncoder().encode('{"this is": no event')
    const inbox = await world.subscribe({ prefetch: 1 })
    await world.fixture.publishRaw!(world.channel, raw)
    const [event] = await world.publish(1)
    const delivery = await inbox.next()
    assert('raw' in delivery.content, 'it is undecodable')
    assert.deepEqual(new Uint8Array(delivery.content.raw), raw)
    assert.notEqual(delivery.content.problem, '')
    await inbox.done(delivery)
    await inbox.assertNextIs(event, 'it does not block what comes after it')
  })
}
