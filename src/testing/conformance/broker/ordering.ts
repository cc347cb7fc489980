import assert from 'node:assert/strict'
import type { LazaretEvent } from '../../../core/event/event.ts'
import type { Delivery } from '../../../ports/broker.ts'
import { seededRandom } from '../../seeded-random.ts'
import { type BrokerConformance, inWorldWith } from './suite.ts'
import { type BrokerWorld, eventOf, type Inbox, idOf } from './world.ts'

const BY_KEY = { ordering: 'by-key' } as const

/** Strict order by key: only unresolved events block the later events of their key. */
export function orderingTests(suite: BrokerConformance): void {
  const it = inWorldWith(suite, 'keyOrder')

  it('B9: events of a key arrive one at a time, in the order of publishing', async world => {
    const inbox = await world.subscribe(BY_KEY)
    const events = await world.publish(4, { key: 'a' })
    for (const event of events) {
      const delivery = await inbox.assertNextIs(event)
      await inbox.assertEmpty('two events of a key are open')
      await inbox.done(delivery)
    }
    const [later] = await world.publish(1, { key: 'a' })
    await inbox.assertNextIs(later, 'a key whose events are all done is free')
  })

  it('B9: two subscriptions of a handler keep the order between them', async world => {
    const inboxes = [await world.subscribe(BY_KEY), await world.subscribe(BY_KEY)]
    const [first] = await world.publish(3, { key: 'a' })
    await world.timing.eventually(() => inboxes.some(inbox => inbox.waiting > 0), 'a delivery')
    await world.timing.quiet()
    const delivered = inboxes.flatMap(inbox => inbox.all.map(idOf))
    // A partition that moves to the other subscription takes its open event with it, so that both get it.
    const events = suite.sharesPartitions ? [...new Set(delivered)] : delivered
    assert.deepEqual(events, [first!.id], 'one event of the key is open')
  })

  it('B9: other keys and events without a key do not wait', async world => {
    const inbox = await world.subscribe(BY_KEY)
    const [first] = await world.publish(2, { key: 'a' })
    const others = [...(await world.publish(1, { key: 'b' })), ...(await world.publish(2))]
    // The suite asks for no order between keys: the last event may come first.
    await inbox.assertNext([first!, ...others])
  })

  for (const outcome of ['retry', 'release'] as const) {
    it(`B9: ${outcome}: later events of the key wait behind a waiting one`, async world => {
      const { timing } = world
      const inbox = await world.subscribe(BY_KEY)
      const [first, second] = await world.publish(2, { key: 'a' })
      const notBefore = timing.now() + (suite.declares.delay ? timing.delayMs : 0)
      await inbox.subscription.settle(await inbox.next(), { outcome, notBefore, ended: [] })
      const [other] = await world.publish(1, { key: 'b' })
      const deliveries = await inbox.assertNext([first!, other!], 'the first one, not the second')
      await inbox.done(...deliveries)
      await inbox.assertNextIs(second)
    })
  }

  it('B9: returned deliveries of a closed subscription come before later events of the key', async world => {
    const inbox = await world.subscribe(BY_KEY)
    const [first] = await world.publish(3, { key: 'a' })
    await inbox.next()
    await inbox.subscription.close()
    const next = await world.subscribe(BY_KEY)
    await next.assertNextIs(first)
    await next.assertEmpty('a later one of the key came as well')
  })

  it('B9: dead: the later events of its key wait until the key is unblocked', async world => {
    const inbox = await world.subscribe(BY_KEY)
    const [dead, second, third] = await world.publish(3, { key: 'a' })
    await world.settleAsDead(inbox, await inbox.next())
    await world.publish(1, { key: 'a' })
    await inbox.assertEmpty('a dead-lettered event did not block its key')
    await world.broker.unblockKey(world.channel, dead!.id)
    for (const event of [second, third]) {
      await inbox.doneNext(event)
    }
    await inbox.done(await inbox.next())
  })

  it('B9: dead: a dead-lettered event that is published again goes first, then the later ones', async world => {
    const inbox = await world.subscribe(BY_KEY)
    const [dead, second] = await world.publish(2, { key: 'a' })
    await world.settleAsDead(inbox, await inbox.next())
    await world.broker.publish([dead!])
    const replayed = await inbox.assertNextIs(dead)
    await inbox.assertEmpty('a later one did not wait for the replay')
    await inbox.done(replayed)
    await inbox.doneNext(second)
    await inbox.assertEmpty('the replay left something behind')
  })

  it('B9: dead: publishing again clears the dead state', async world => {
    const inbox = await world.subscribe(BY_KEY)
    const [dead, second] = await world.publish(2, { key: 'a' })
    await world.settleAsDead(inbox, await inbox.next())
    await world.broker.publish([dead!])
    const replayed = await inbox.next()
    await world.broker.unblockKey(world.channel, dead!.id)
    await inbox.assertEmpty('the key was unblocked while its replay is open')
    await inbox.done(replayed)
    await inbox.assertNextIs(second)
    await world.broker.publish([dead!])
    await inbox.assertEmpty('published once more, it did not wait for its turn')
  })

  it('B9: dead: other keys and other handlers continue', async world => {
    const inbox = await world.subscribe(BY_KEY)
    const other = await world.subscribe({ ...BY_KEY, handler: 'ship' })
    const events = await world.publish(2, { key: 'a' })
    await world.settleAsDead(inbox, await inbox.next())
    const [unrelated] = await world.publish(1, { key: 'b' })
    await inbox.assertNextIs(unrelated)
    for (const event of events) {
      const delivery = await nextOfKey(other, 'a')
      assert.equal(idOf(delivery), event.id)
      await other.done(delivery)
    }
  })

  it('B9: unblockKey for one handler leaves the key blocked for another', async world => {
    const inbox = await world.subscribe(BY_KEY)
    const other = await world.subscribe({ ...BY_KEY, handler: 'ship' })
    const [dead, second] = await world.publish(2, { key: 'a' })
    for (const each of [inbox, other]) await world.settleAsDead(each, await each.next())
    await world.broker.unblockKey(world.channel, dead!.id, 'bill')
    await inbox.assertNextIs(second)
    await other.assertEmpty('the key was unblocked for another handler')
    await world.broker.unblockKey(world.channel, dead!.id, 'ship')
    await other.assertNextIs(second)
  })

  it('B9: unblockKey ignores ids that are unknown, not dead or of another channel', async world => {
    const inbox = await world.subscribe(BY_KEY)
    const [first, second] = await world.publish(3, { key: 'a' })
    const delivery = await inbox.next()
    await world.broker.unblockKey(world.channel, 'no-such-id')
    await world.broker.unblockKey(`${world.channel}-other`, first!.id)
    await world.broker.unblockKey(world.channel, first!.id)
    await inbox.assertEmpty('the key of an open event was unblocked')
    await inbox.done(delivery)
    await world.settleAsDead(inbox, await inbox.assertNextIs(second))
    for (const other of [first!.id, 'no-such-id']) await world.broker.unblockKey(world.channel, other)
    await world.broker.unblockKey(`${world.channel}-other`, second!.id)
    await inbox.assertEmpty('another id or channel let it go')
  })

  it('B9: events of a key are done in order after any mix of outcomes', async world => {
    const inbox = await world.subscribe({ ...BY_KEY, prefetch: 4 })
    const events = mixedKeys(world, 60)
    await world.broker.publish(events)
    await assertOrder(world, inbox, events)
  })
}

async function nextOfKey(inbox: Inbox, key: string): Promise<Delivery> {
  for (;;) {
    const delivery = await inbox.next()
    if (eventOf(delivery).key === key) return delivery
    await inbox.done(delivery)
  }
}

function mixedKeys(world: BrokerWorld, count: number): LazaretEvent[] {
  return Array.from({ length: count }, (_, index) => world.events(1, { key: `key-${index % 5}` })[0]!)
}

/** Settles all events with random outcomes, and checks that each delivery is the first unresolved event of its key. */
async function assertOrder(world: BrokerWorld, inbox: Inbox, events: readonly LazaretEvent[]): Promise<void> {
  const random = seededRandom(7)
  const left = new Map<string | undefined, string[]>()
  for (const { key, id } of events) left.set(key, [...(left.get(key) ?? []), id])
  for (let done = 0; done < events.length; ) {
    const delivery = await inbox.next()
    const { key, id } = eventOf(delivery)
    assert.equal(id, left.get(key)?.[0], `the first unresolved event of ${key}`)
    const chance = random()
    if (chance < 0.2) {
      await inbox.retry(delivery)
    } else if (chance < 0.4) {
      await inbox.release(delivery)
    } else if (chance < 0.6) {
      await world.settleAsDead(inbox, delivery)
      await world.broker.publish([eventOf(delivery)])
    } else {
      left.get(key)?.shift()
      done++
      if (chance < 0.7) {
        await world.settleAsDead(inbox, delivery)
        await world.broker.unblockKey(world.channel, id)
      } else await inbox.done(delivery)
    }
  }
}
