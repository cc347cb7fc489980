import { describe, expect, it } from 'vitest'
import { ChaosProxy } from '../../../test/chaos/proxy.ts'
import { losingMessages } from '../../../test/support/losing-nats.ts'
import { createNatsWorld, eventually, make, subscribe, TIMES } from '../../../test/support/nats-world.ts'
import { letterId } from '../../core/dead-letter/identity.ts'
import { replayHeaders } from '../../core/event/replay-headers.ts'
import { type Clock, delay, systemClock } from '../../ports/clock.ts'
import { eventOf } from '../../testing/conformance/broker/world.ts'
import { uniqueName } from '../../testing/conformance/harness.ts'
import { namesOf, streamsOf, subjectsOf } from './broker/streams/names.ts'

const { service, outside, isAtLeast, why, open, mortal } = await createNatsWorld()

const BY_KEY = { ordering: 'by-key' } as const
const isState = (subject: string) => subject.startsWith('lazaret.state.')
type Inbox = Awaited<ReturnType<typeof subscribe>>

async function settleAsDead({ subscription, deliveries }: Inbox, at: number): Promise<void> {
  const delivery = deliveries[at]!
  const letter = make.letter({ event: eventOf(delivery), channel: delivery.channel })
  await subscription.settle(delivery, { outcome: 'dead', letter, saved: true })
}

/** The event at this place of an inbox is this one, and is done. */
async function doneAt({ subscription, deliveries, ids }: Inbox, at: number, id: string): Promise<void> {
  await eventually(() => ids()[at]).toBe(id)
  await subscription.settle(deliveries[at]!, { outcome: 'done' })
}

describe.runIf(service !== undefined)(`NATS from one owner of the order to the next${why}`, () => {
  it('B9: after a crash, thousands of new events pass none that the dead owner had, and do not fill the memory', async () => {
    const channel = uniqueName('flood')
    const { broker, die } = mortal()
    const owner = await subscribe(broker, channel, BY_KEY)
    const next = await subscribe(open(), channel, { ...BY_KEY, prefetch: 3 })
    const publisher = open()
    const keys = ['a', 'b', 'c']
    const first = keys.map(key => make.event({ channel, key }))
    await publisher.publish(first)
    await eventually(() => owner.ids()).toHaveLength(3)
    await die()
    const later = [1, 2, 3].flatMap(() => keys.map(key => make.event({ channel, key })))
    await publisher.publish([...later, ...make.events(6_000, { channel })])
    let most = 0
    await eventually(async () => {
      const info = await outside.jetstream.consumerInfo(streamsOf(channel).events, 'bill')
      most = Math.max(most, info!.num_ack_pending)
      return next.ids().length
    }).toBeGreaterThan(0)
    for (let at = 0; at < first.length + later.length; at++) {
      await eventually(() => next.ids().length).toBeGreaterThan(at)
      await next.subscription.settle(next.deliveries[at]!, { outcome: 'done' })
    }
    for (const [at, key] of keys.entries()) {
      const ofKey = next.deliveries
        .map(eventOf)
        .filter(event => event.key === key)
        .map(({ id }) => id)
      const expected = [first[at]!, ...later.filter(event => event.key === key)].map(({ id }) => id)
      expect(ofKey).toEqual(expected.slice(0, ofKey.length))
    }
    expect(most).toBeLessThan(3_000)
  })

  it('B8: a replay whose owner crashed runs as a suspect, and its crash is counted', async () => {
    const channel = uniqueName('crashing-replay')
    // The server delivers the replay again when the next owner has long read everything else.
    const times = { ackWaitMs: 4_000 }
    const first = mortal(times)
    const owner = await subscribe(first.broker, channel, BY_KEY)
    const event = make.event({ channel, key: 'a' })
    await open().publish([event])
    await eventually(() => owner.ids()).toEqual([event.id])
    await settleAsDead(owner, 0)
    const replay = { handler: 'bill', letterId: letterId(channel, 'bill', event), replayId: 'replay-1' }
    await open().publish([{ ...event, headers: replayHeaders(event, replay) }])
    await eventually(() => owner.ids()).toHaveLength(2)
    await owner.subscription.begin(owner.deliveries[1]!, [])
    const second = mortal(times)
    const next = await subscribe(second.broker, channel, BY_KEY)
    await first.die()
    await eventually(() => next.ids()).toEqual([event.id])
    await next.subscription.begin(next.deliveries[0]!, [])
    const last = await subscribe(open(times), channel, BY_KEY)
    await second.die()
    await eventually(() => last.ids()).toEqual([event.id])
    expect(last.deliveries[0]!.started).toBeGreaterThan(0)
  })

  // The first crash makes it a suspect, and the second one proves it. One that is held is known to run from then on.
  it.each([
    ['in no order', {}, {}, [0, 0, 2, 3]],
    ['without a key among ordered ones', BY_KEY, {}, [0, 0, 1, 2]],
    ['with a key', BY_KEY, { key: 'a' }, [0, 0, 1, 2]],
  ])(
    'B8: crashes of an event %s are counted while a ledger keeps the claim of its dead process',
    async (_, ordering, key, expected) => {
      const channel = uniqueName('claimed')
      await (await subscribe(open(), channel, ordering)).subscription.close()
      await open().publish([make.event({ channel, ...key })])
      const counted: number[] = []
      for (let run = 0; run < 4; run++) {
        const { broker, die } = mortal()
        const { subscription, deliveries } = await subscribe(broker, channel, ordering)
        await eventually(() => deliveries).toHaveLength(1)
        counted.push(deliveries[0]!.started)
        if (run > 0) {
          const notBefore = systemClock.now() + TIMES.ackWaitMs / 2
          await subscription.settle(deliveries[0]!, { outcome: 'release', notBefore })
          await eventually(() => deliveries).toHaveLength(2)
          expect(deliveries[1]!.started).toBe(deliveries[0]!.started)
        }
        await subscription.begin(deliveries.at(-1)!, [])
        await die()
      }
      expect(counted).toEqual(expected)
    },
  )

  it('B9: an owner that lost the order writes nothing more of what it had tried to write', async () => {
    const channel = uniqueName('fenced')
    const link = losingMessages(isState)
    const first = await subscribe(open({ client: link.client }), channel, BY_KEY)
    const second = await subscribe(open(), channel, BY_KEY)
    const publisher = open()
    const [event, later] = make.events(2, { channel, key: 'a' })
    await publisher.publish([event!])
    await eventually(() => first.ids()).toEqual([event!.id])
    link.startLosing()
    const retry = { outcome: 'retry', notBefore: 0, ended: [] } as const
    const settling = Promise.resolve(first.subscription.settle(first.deliveries[0]!, retry)).catch(() => {})
    await eventually(() => link.lost).toBeGreaterThan(0)
    await doneAt(second, 0, event!.id)
    link.stopLosing()
    await settling
    await second.subscription.close()
    await first.subscription.close()
    const third = await subscribe(open(), channel, BY_KEY)
    await publisher.publish([later!])
    await doneAt(third, 0, later!.id)
  })

  // Older servers cannot check a record under another subject.
  it.skipIf(!isAtLeast('2.11'))(
    'B9: what an owner has sent is refused if the network delivers it late',
    async () => {
      const channel = uniqueName('held-back')
      const proxy = await ChaosProxy.to(service!.url)
      const old = open({ url: proxy.through(service!.url) })
      const first = await subscribe(old, channel, BY_KEY)
      const second = await subscribe(open(), channel, BY_KEY)
      const publisher = open()
      const [event, later] = make.events(2, { channel, key: 'a' })
      await publisher.publish([event!])
      await eventually(() => first.ids()).toEqual([event!.id])
      proxy.holdBack()
      const retry = { outcome: 'retry', notBefore: 0, ended: [] } as const
      const settling = Promise.resolve(first.subscription.settle(first.deliveries[0]!, retry)).catch(() => {})
      await doneAt(second, 0, event!.id)
      await settling
      proxy.release()
      // It is answered after everything that was sent before.
      await old.depth(channel, 'bill')
      await second.subscription.close()
      await first.subscription.close()
      const third = await subscribe(open(), channel, BY_KEY)
      await publisher.publish([later!])
      await doneAt(third, 0, later!.id)
      await old.close()
      await proxy.close()
    },
  )

  it('B9: an owner that closes while events move to the state stream writes none of them later', async () => {
    const channel = uniqueName('moving')
    const link = losingMessages(subject => isState(subject) && subject.includes('.waiting.'))
    const first = await subscribe(open({ client: link.client }), channel, BY_KEY)
    const publisher = open()
    const [dead, ...behind] = make.events(900, { channel, key: 'a' })
    await publisher.publish([dead!])
    await eventually(() => first.ids()).toEqual([dead!.id])
    await settleAsDead(first, 0)
    link.startLosing()
    await publisher.publish(behind)
    await eventually(() => link.lost).toBeGreaterThan(0)
    await first.subscription.close()
    // It has room for all of them.
    const second = await subscribe(open(), channel, { ...BY_KEY, prefetch: 500 })
    await publisher.unblockKey(channel, dead!.id, 'bill')
    await doneAt(second, 0, behind[0]!.id)
    const { lost } = link
    // Longer than the rest between two tries.
    await delay(systemClock, 3_000)
    expect(link.lost).toBe(lost)
  })

  it('P1: events that wait behind a blocked key survive the limits of their stream', async () => {
    const channel = uniqueName('limits')
    const { streams, stateSubject } = namesOf(channel, 'bill')
    const max_age = 2_000 * 1_000_000
    const subjects = [subjectsOf(channel).events]
    await outside.jetstream.createStream({ name: streams.events, subjects, retention: 'limits', max_age })
    const first = await subscribe(open({ retention: 'limits' }), channel, BY_KEY)
    const publisher = open({ retention: 'limits' })
    const [dead, ...behind] = make.events(4, { channel, key: 'a' })
    await publisher.publish([dead!, ...behind])
    await eventually(() => first.ids()).toEqual([dead!.id])
    await settleAsDead(first, 0)
    await eventually(() => outside.jetstream.countOf(streams.state, `${stateSubject}.waiting.*`)).toBe(3)
    await eventually(async () => (await outside.jetstream.streamInfo(streams.events))!.state.messages).toBe(0)
    await first.subscription.close()
    const second = await subscribe(open({ retention: 'limits' }), channel, BY_KEY)
    await publisher.unblockKey(channel, dead!.id, 'bill')
    for (const [at, { id }] of behind.entries()) await doneAt(second, at, id)
  })

  it('B9: a key that is unblocked before its event is on record as dead is not blocked', async () => {
    const channel = uniqueName('early')
    const link = losingMessages(subject => isState(subject) && subject.includes('.dead.'))
    const inbox = await subscribe(open({ client: link.client }), channel, BY_KEY)
    const publisher = open()
    const [dead, second] = make.events(2, { channel, key: 'a' })
    await publisher.publish([dead!, second!])
    await eventually(() => inbox.ids()).toEqual([dead!.id])
    link.startLosing()
    const settling = settleAsDead(inbox, 0)
    await eventually(() => link.lost).toBeGreaterThan(0)
    await publisher.unblockKey(channel, dead!.id, 'bill')
    // It comes after the request in the same stream: when it is delivered, the request was read.
    await outside.publishJson(namesOf(channel, 'bill').retrySubject, Buffer.from('{}'))
    await eventually(() => inbox.ids()).toHaveLength(2)
    await inbox.subscription.settle(inbox.deliveries[1]!, { outcome: 'done' })
    link.stopLosing()
    await settling
    await doneAt(inbox, 2, second!.id)
    await eventually(() => publisher.depth(channel, 'bill')).toBe(0)
  })

  it('B9: a subscription that cannot read what is held can be closed', async () => {
    const channel = uniqueName('opening')
    const link = losingMessages(subject => {
      if (subject.endsWith('.owner')) link.startLosing()
      return subject.startsWith('$JS.API.STREAM.MSG.GET')
    })
    const broker = open({ client: link.client })
    const subscribing = subscribe(broker, channel, BY_KEY).catch(() => {})
    await eventually(() => link.lost).toBeGreaterThan(0)
    await broker.close()
    await subscribing
  }, 30_000)

  it('B9: a consumer whose clock is an hour ahead blocks no key for that long', async () => {
    const channel = uniqueName('ahead')
    const clock: Clock = { ...systemClock, now: () => systemClock.now() + 3_600_000 }
    const first = await subscribe(open({ clock }), channel, BY_KEY)
    const publisher = open()
    const [event] = make.events(1, { channel, key: 'a' })
    await publisher.publish([event!])
    await eventually(() => first.ids()).toEqual([event!.id])
    const notBefore = clock.now() + 500
    await first.subscription.settle(first.deliveries[0]!, { outcome: 'retry', notBefore, ended: [] })
    await first.subscription.close()
    const second = await subscribe(open(), channel, BY_KEY)
    await doneAt(second, 0, event!.id)
  })

  it('E21: an owner that lost the order gives its events back', async () => {
    const channel = uniqueName('back')
    const link = losingMessages(subject => subject.endsWith('.owner'))
    const ackWaitMs = 60 * TIMES.ackWaitMs
    const first = await subscribe(open({ client: link.client, ackWaitMs }), channel, BY_KEY)
    const second = await subscribe(open({ ackWaitMs }), channel, BY_KEY)
    const [event] = make.events(1, { channel, key: 'a' })
    await open().publish([event!])
    await eventually(() => first.ids()).toEqual([event!.id])
    link.startLosing()
    await doneAt(second, 0, event!.id)
  })

  it('B8: a slow handler does not keep the suspects of a crash waiting', async () => {
    const channel = uniqueName('slow')
    const { broker, die } = mortal()
    const owner = await subscribe(broker, channel, BY_KEY)
    const publisher = open()
    const slow = make.event({ channel, key: 'slow' })
    const suspects = make.events(2, { channel, key: 'a' })
    await publisher.publish([slow, ...suspects])
    await eventually(() => owner.ids()).toEqual([slow.id, suspects[0]!.id])
    // It is held, so that the next owner does not suspect it.
    await owner.subscription.settle(owner.deliveries[0]!, { outcome: 'retry', notBefore: 0, ended: [] })
    await eventually(() => owner.ids()).toHaveLength(3)
    await die()
    const next = await subscribe(open(), channel, BY_KEY)
    await doneAt(next, 0, suspects[0]!.id)
    // The slow one is loaded meanwhile, and comes before the second suspect unless that takes longer.
    await eventually(() => next.ids()).toContain(suspects[1]!.id)
  })
})
