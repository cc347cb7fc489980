import assert from 'node:assert/strict'
import type { Delivery } from '../../../ports/broker.ts'
import { seededRandom } from '../../seeded-random.ts'
import { sortedIds } from '../harness.ts'
import { type BrokerConformance, inWorld, inWorldWith } from './suite.ts'
import { counts, idOf, idsOf } from './world.ts'

/** Closing loses no event, and nothing is delivered after it. */
export function closingTests(suite: BrokerConformance): void {
  const it = inWorld(suite)

  it('close: a subscription returns its open deliveries, and the next subscription gets them', async world => {
    const inbox = await world.subscribe({ prefetch: 2 })
    const events = await world.publish(3)
    await inbox.take(2)
    await inbox.subscription.close()
    const next = await world.subscribe()
    await next.assertNext(events)
  })

  it('close: open deliveries go to the other subscriptions of the handler', async world => {
    const first = await world.subscribe({ prefetch: 1 })
    const [event] = await world.publish(1)
    await first.next()
    const second = await world.subscribe()
    await first.subscription.close()
    await second.assertNextIs(event)
  })

  it('close: nothing arrives after a close, and closing twice is safe', async world => {
    const inbox = await world.subscribe()
    await inbox.subscription.close()
    await inbox.subscription.close()
    await world.publish(2)
    inbox.subscription.resume()
    await inbox.assertEmpty('a closed subscription got a delivery')
  })

  it('close: waits for running settlements', async world => {
    const { inbox, delivery } = await world.deliverOne()
    const settled = inbox.subscription.settle(delivery, { outcome: 'done' })
    await inbox.subscription.close()
    await settled
    await (await world.subscribe()).assertEmpty('a settlement under way was lost')
  })

  it('close: a broker closes its subscriptions, and later calls reject', async world => {
    const { broker, channel } = world
    const { inbox, delivery } = await world.deliverOne()
    await broker.close()
    await broker.close()
    await assert.rejects(async () => inbox.subscription.settle(delivery, { outcome: 'done' }))
    await assert.rejects(async () => broker.publish(world.events(1)))
    await assert.rejects(async () => world.subscribe())
    await assert.rejects(async () => broker.unblockKey(channel, 'some-id'))
    await inbox.assertEmpty('a closed broker delivered')
  })

  it('E21: with changing subscriptions every event is delivered until it is done, and not again', async world => {
    await world.registerHandler()
    const events = await world.publish(60)
    const random = seededRandom(3)
    const done = new Set<string>()
    while (done.size < events.length) {
      const inbox = await world.subscribe({ prefetch: 1 + Math.floor(random() * 8) })
      for (let handled = 0; handled < 10 && done.size < events.length; handled++) {
        const delivery = await inbox.next()
        assert(!done.has(idOf(delivery)), 'an event that is done came again')
        const chance = random()
        // The delivery stays open and returns to the queue when the subscription closes.
        if (chance < 0.1) break
        if (chance < 0.4) {
          await inbox.retry(delivery)
        } else {
          await inbox.done(delivery)
          done.add(idOf(delivery))
        }
      }
      await inbox.subscription.close()
    }
    await (await world.subscribe()).assertEmpty('something is left over')
  })
}

/** The data that survives a restart. */
export function durabilityTests(suite: BrokerConformance): void {
  const { delay } = suite.declares
  const it = inWorldWith(suite, 'durable')

  it('E21: published events and open deliveries survive a restart', async world => {
    const inbox = await world.subscribe({ prefetch: 2 })
    const events = await world.publish(4)
    const [first, second] = await inbox.take(2)
    await inbox.done(first!)
    await inbox.begin(second!)
    await world.reopen()
    const next = await world.subscribe()
    const deliveries: Delivery[] = []
    while (deliveries.length < 3) {
      const delivery = await next.next()
      deliveries.push(delivery)
      // If the server was too slow for the close, the broker takes the open event for a crash, and delivers it alone.
      await next.done(delivery)
    }
    assert.deepEqual(idsOf(deliveries).sort(), sortedIds(events.slice(1)))
    const open = deliveries.find(delivery => idOf(delivery) === events[1]?.id)
    assert.deepEqual(counts(open!), [1, 0, []])
  })

  it('B3: a retry and its attempts survive a restart', async world => {
    const { timing } = world
    const { inbox, delivery } = await world.deliverOne()
    const notBefore = timing.now() + (delay ? timing.delayMs : 0)
    const ended = [world.make.attempt(1)]
    await inbox.begin(delivery)
    await inbox.retry(delivery, notBefore, ended)
    await world.reopen()
    const next = await world.subscribe()
    assert.deepEqual(counts(await next.next()), [1, 1, ended])
    assert(next.times[0]! >= notBefore, 'it came too early')
  })

  const itOrdered = inWorldWith(suite, 'durable', 'keyOrder')
  itOrdered('B9: a dead-lettered event still blocks its key', async world => {
    const options = { ordering: 'by-key' } as const
    const inbox = await world.subscribe(options)
    const [dead, second] = await world.publish(2, { key: 'a' })
    const delivery = await inbox.next()
    await world.settleAsDead(inbox, delivery)
    await world.reopen()
    const next = await world.subscribe(options)
    await next.assertEmpty('the key was delivered past its dead-lettered event')
    await world.broker.unblockKey(world.channel, dead!.id)
    await next.assertNextIs(second)
  })
}
