import assert from 'node:assert/strict'
import { letterId } from '../../../core/dead-letter/identity.ts'
import type { Delivery } from '../../../ports/broker.ts'
import { unlessDeclared } from '../harness.ts'
import { type BrokerConformance, inWorld, inWorldWith } from './suite.ts'
import { eventOf, idOf, idsOf } from './world.ts'

/** The effects of each settlement. */
export function settlingTests(suite: BrokerConformance): void {
  const it = inWorld(suite)

  it('done: a settled event is not delivered again', async world => {
    const inbox = await world.subscribe()
    await world.publish(3)
    await inbox.done(...(await inbox.take(3)))
    await inbox.subscription.close()
    const next = await world.subscribe()
    await next.assertEmpty('a settled event came again')
  })

  it('B3: retry: the event is delivered again at its time, and at once if the time has passed', async world => {
    const { inbox, event, delivery } = await world.deliverOne()
    await inbox.retry(delivery)
    const again = await inbox.next()
    assert.deepEqual(again.content, event)
    await inbox.done(again)
    await inbox.assertEmpty('one retry, one delivery')
  })

  it('release: the event is delivered again without an attempt', async world => {
    const { inbox, event, delivery } = await world.deliverOne()
    await inbox.release(delivery)
    const again = await inbox.assertNextIs(event)
    assert.deepEqual([again.started, again.ended], [0, 0])
  })

  it('K10: dead with a saved letter: the event is not delivered again', async world => {
    const { inbox, delivery } = await world.deliverOne()
    await world.settleAsDead(inbox, delivery)
    await inbox.subscription.close()
    const next = await world.subscribe()
    await next.assertEmpty('a dead-lettered event was delivered again')
    if (suite.canReadLetters) assert.deepEqual(await world.fixture.keptLetters!(world.channel), [])
  })

  it('settle: a second settlement rejects and changes nothing', async world => {
    const { inbox, delivery } = await world.deliverOne()
    await inbox.done(delivery)
    await assert.rejects(async () => inbox.retry(delivery))
    await inbox.assertEmpty('the second settlement brought it back')
  })

  it('settle: a settlement after the close of its subscription rejects, and the event is delivered again', async world => {
    const { inbox, event, delivery } = await world.deliverOne()
    await inbox.subscription.close()
    await assert.rejects(async () => inbox.subscription.settle(delivery, { outcome: 'done' }))
    const next = await world.subscribe()
    await next.assertNextIs(event)
  })

  it('settle: an old delivery cannot settle an event that is open again', async world => {
    const { inbox, delivery: old } = await world.deliverOne()
    await inbox.retry(old)
    const current = await inbox.next()
    await assert.rejects(async () => inbox.subscription.settle(old, { outcome: 'done' }))
    await inbox.done(current)
  })

  it('begin: rejects for a settled delivery', async world => {
    const { inbox, delivery } = await world.deliverOne()
    await inbox.done(delivery)
    await assert.rejects(async () => inbox.begin(delivery))
  })

  it('settle: accepts many concurrent settlements in any order', async world => {
    const inbox = await world.subscribe({ prefetch: 50 })
    await world.publish(120)
    for (let left = 120; left > 0; ) {
      const deliveries = await inbox.take(Math.min(left, 20))
      await Promise.all(
        deliveries.reverse().map(each => inbox.subscription.settle(each, { outcome: 'done' })),
      )
      left -= deliveries.length
    }
    await inbox.assertEmpty('an event came twice')
  })
}

/** Delays inside the broker. */
export function delayTests(suite: BrokerConformance): void {
  const it = inWorldWith(suite, 'delay')

  for (const outcome of ['retry', 'release'] as const) {
    it(`B3: ${outcome}: the event is not delivered before its time, and does not delay others`, async world => {
      const { timing } = world
      const inbox = await world.subscribe({ prefetch: 1 })
      const arrivalOf = (delivery: Delivery) => inbox.times[inbox.all.indexOf(delivery)]!
      await timing.untilInTime(async delayMs => {
        const [late] = await world.publish(2)
        const waiting = await inbox.assertNextIs(late)
        const notBefore = timing.now() + delayMs
        await inbox.subscription.settle(waiting, { outcome, notBefore, ended: [] })
        const next: Delivery[] = []
        for (const _ of ['other', 'late']) {
          next.push(await inbox.next())
          await inbox.done(next.at(-1)!)
        }
        const again = next.find(delivery => idOf(delivery) === late!.id)!
        const other = next.find(delivery => delivery !== again)!
        assert(arrivalOf(again) >= notBefore, `came ${notBefore - arrivalOf(again)} ms too early`)
        return arrivalOf(other) < notBefore
      }, 'the waiting one holds no slot')
    })
  }

  it('B3: retry: the event with the earlier time comes first', async world => {
    const { timing } = world
    const inbox = await world.subscribe()
    await timing.untilInTime(async delayMs => {
      const [slow, quick] = await world.publish(2)
      const [first, second] = await inbox.take(2)
      const notBefore = timing.now() + delayMs
      await inbox.retry(first!, notBefore + delayMs)
      await inbox.retry(second!, notBefore)
      const isInTime = timing.now() < notBefore
      const next = await inbox.take(2)
      if (isInTime) assert.deepEqual(idsOf(next), [quick?.id, slow?.id])
      await inbox.done(...next)
      return isInTime
    }, 'both retries')
  })

  it('B3: retry: an event that is due without a subscription waits for the next one', async world => {
    const { timing } = world
    const inbox = await world.subscribe()
    const [event] = await world.publish(1)
    const notBefore = timing.now() + timing.delayMs
    await inbox.retry(await inbox.next(), notBefore)
    await inbox.subscription.close()
    await timing.pass(timing.delayMs + 1)
    const next = await world.subscribe()
    await next.assertNextIs(event)
  })
}

/** The broker's own dead-letter queue. */
export function keptLetterTests(suite: BrokerConformance): void {
  const unreadable = suite.canReadLetters ? undefined : 'the fixture has no keptLetters'
  const it = inWorld(suite, unlessDeclared(suite.declares, 'deadLetters') ?? unreadable)

  it('K10: dead with an unsaved letter: the broker keeps the complete letter', async world => {
    const { inbox, delivery } = await world.deliverOne()
    const letter = await world.settleAsDead(inbox, delivery, false)
    assert.deepEqual(await world.fixture.keptLetters!(world.channel), [letter])
    await inbox.assertEmpty('a dead-lettered event was delivered again')
  })

  it('E10: a replayed event that fails again gets the same letter', async world => {
    const inbox = await world.subscribe()
    const [event] = await world.publish(1)
    for (const replay of [0, 1]) {
      if (replay > 0) await world.broker.publish([event!])
      const delivery = await inbox.next()
      const letter = world.make.letter({ event: eventOf(delivery), channel: world.channel, replay })
      await inbox.subscription.settle(delivery, { outcome: 'dead', letter, saved: false })
    }
    const [kept, ...others] = await world.fixture.keptLetters!(world.channel)
    assert.equal(kept?.id, letterId(world.channel, 'bill', event!))
    assert.deepEqual([kept.cycle.number, kept.endedCycles.length, others], [1, 1, []])
  })
}
