import assert from 'node:assert/strict'
import { letterId } from '../../../core/dead-letter/identity.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { replayHeaders, replayOf } from '../../../core/event/replay-headers.ts'
import { type BrokerConformance, inWorld, inWorldWith } from './suite.ts'
import { type BrokerWorld, eventOf, type Inbox } from './world.ts'

const BY_KEY = { ordering: 'by-key' } as const

/** A replay reaches only its handler. Replay headers that were copied to another event have no effect. */
export function replayingTests(suite: BrokerConformance): void {
  const it = inWorld(suite)

  it('B14: a replay for one handler reaches only that handler', async world => {
    const { bill, mail } = await twoHandlers(world)
    const [event] = await world.publish(1)
    for (const inbox of [bill, mail]) await world.settleAsDead(inbox, await inbox.next())
    const replay = replayed(event!, 'bill')
    await world.broker.publish([replay])
    const delivery = await bill.next()
    assert.deepEqual(replayOf(eventOf(delivery)), replayOf(replay), 'it still says what it is')
    await bill.done(delivery)
    await mail.assertEmpty('a replay for bill reached mail')
    await bill.assertEmpty('the replay came twice')
  })

  it('B14: one replay for two handlers reaches each of them once', async world => {
    const inboxes = await twoHandlers(world)
    const [event] = await world.publish(1)
    for (const inbox of Object.values(inboxes)) await world.settleAsDead(inbox, await inbox.next())
    await world.broker.publish([replayed(event!, 'bill')])
    await world.broker.publish([replayed(event!, 'mail')])
    for (const [handler, inbox] of Object.entries(inboxes)) {
      const delivery = await inbox.next()
      assert.equal(replayOf(eventOf(delivery))?.handler, handler)
      await inbox.done(delivery)
    }
    for (const inbox of Object.values(inboxes)) await inbox.assertEmpty('a replay came twice')
  })

  it('B14, K8: one replay of an event that was published and failed twice reaches its handler once', async world => {
    const inbox = await world.subscribe()
    const [event] = await world.publish(1)
    await world.broker.publish([event!])
    for (const delivery of await inbox.take(2)) await world.settleAsDead(inbox, delivery)
    await world.broker.publish([replayed(event!, 'bill')])
    await inbox.done(await inbox.next())
    await inbox.assertEmpty('the replay came twice')
  })

  it('B14, K8: an event that failed twice and is published again reaches its handler once', async world => {
    const inbox = await world.subscribe()
    const [event] = await world.publish(1)
    await world.broker.publish([event!])
    for (const delivery of await inbox.take(2)) await world.settleAsDead(inbox, delivery)
    await world.broker.publish([event!])
    await inbox.done(await inbox.next())
    await inbox.assertEmpty('the event came twice')
  })

  it('B14: a replay for a handler that does not subscribe waits for it, and reaches nobody else', async world => {
    const mail = await world.subscribe({ handler: 'mail' })
    await world.registerHandler({ handler: 'bill' })
    const event = world.events(1)[0]!
    await world.broker.publish([replayed(event, 'bill')])
    await mail.assertEmpty('a replay for bill reached mail')
    const bill = await world.subscribe({ handler: 'bill' })
    await bill.assertNextIs(event)
  })

  it('B14: a replay for a handler that has never subscribed waits for it, and reaches nobody else', async world => {
    const mail = await world.subscribe({ handler: 'mail' })
    const [dead, later] = world.events(2)
    await world.broker.publish([replayed(dead!, 'bill')])
    await world.broker.publish([later!])
    await mail.assertNextIs(later)
    await mail.assertEmpty('a replay for bill reached mail')
    const bill = await world.subscribe({ handler: 'bill' })
    await bill.doneNext(dead)
    await bill.assertEmpty('it got an event from before its first subscription')
  })

  it('B14: an event with the replay headers of another event reaches every handler, without them', async world => {
    const { bill, mail } = await twoHandlers(world)
    const [first, followUp] = world.events(2)
    const { headers } = replayed(first!, 'nobody')
    await world.broker.publish([{ ...followUp!, headers: { ...headers, 'x-trace': 'kept' } }])
    for (const inbox of [bill, mail]) {
      const delivery = await inbox.assertNextIs(followUp)
      assert.deepEqual({ ...eventOf(delivery).headers }, { 'x-trace': 'kept' })
      await inbox.done(delivery)
    }
  })

  it('B14: an event that is forwarded to another channel with the headers of its replay is not a replay there', async world => {
    const { bill, mail } = await twoHandlers(world)
    const elsewhere = world.make.event({ channel: `${world.channel}-before` })
    await world.broker.publish([{ ...replayed(elsewhere, 'nobody'), channel: world.channel }])
    for (const inbox of [bill, mail]) {
      const delivery = await inbox.next()
      assert.equal(replayOf(eventOf(delivery)), undefined)
      await inbox.done(delivery)
    }
  })

  it('B14: a redirected replay that its handler forwards to another channel arrives there', async world => {
    const next = `${world.channel}-next`
    const here = await world.subscribe()
    const there = await world.subscribe({ channel: next })
    const event = world.make.event({ channel: `${world.channel}-before` })
    const headers = replayHeaders(event, {
      letterId: letterId(event.channel, 'bill', event),
      replayId: 'replay-1',
    })
    await world.broker.publish([{ ...event, channel: world.channel, headers }])
    const delivery = await here.next()
    await world.broker.publish([{ ...eventOf(delivery), channel: next }])
    await here.done(delivery)
    await there.assertNextIs(event)
  })

  const ordered = inWorldWith(suite, 'keyOrder')

  ordered('B14, B9: a replay for one handler does not free the key for another handler', async world => {
    const { bill, mail } = await twoHandlers(world, BY_KEY)
    const [dead, second] = await world.publish(2, { key: 'a' })
    for (const inbox of [bill, mail]) await world.settleAsDead(inbox, await inbox.next())
    await world.broker.publish([replayed(dead!, 'bill')])
    await bill.done(await bill.next())
    await bill.assertNextIs(second)
    await mail.assertEmpty('the key was delivered to mail past its dead-lettered event')
  })
}

async function twoHandlers(world: BrokerWorld, options = {}): Promise<{ bill: Inbox; mail: Inbox }> {
  const bill = await world.subscribe({ handler: 'bill', ...options })
  return { bill, mail: await world.subscribe({ handler: 'mail', ...options }) }
}

function replayed(event: LazaretEvent, handler: string): LazaretEvent {
  const replay = { handler, letterId: letterId(event.channel, handler, event), replayId: 'replay-1' }
  return { ...event, headers: replayHeaders(event, replay) }
}
