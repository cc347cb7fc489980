import { describe, expect, it } from 'vitest'
import { createNatsWorld, eventually, make, subscribe, TIMES } from '../../../test/support/nats-world.ts'
import { OutsideNats } from '../../../test/support/outside-nats.ts'
import { type Clock, delay, systemClock } from '../../ports/clock.ts'
import { uniqueName } from '../../testing/conformance/harness.ts'

const { service, why, open, mortal } = await createNatsWorld()

describe.runIf(service !== undefined)(`NATS under hardship${why}`, () => {
  it('a handler that takes longer than the server waits keeps its event', async () => {
    const channel = uniqueName('slow')
    const first = await subscribe(open(), channel)
    const second = await subscribe(open(), channel)
    const [event] = make.events(1, { channel })
    await open().publish([event!])
    await eventually(() => first.ids().length + second.ids().length).toBe(1)
    await delay(systemClock, 2.5 * TIMES.ackWaitMs)
    expect(first.ids().length + second.ids().length).toBe(1)
  })

  it('P1: what is open while the server is killed can be settled after it', async () => {
    const channel = uniqueName('killed')
    const broker = open({ ackWaitMs: 30_000 })
    const { subscription, deliveries, ids } = await subscribe(broker, channel)
    await broker.publish(make.events(3, { channel }))
    await eventually(() => deliveries.length).toBe(3)
    await service!.nodes[0]!.kill()
    for (const delivery of deliveries) await subscription.settle(delivery, { outcome: 'done' })
    await service!.nodes[0]!.start()
    await broker.publish(make.events(1, { channel }))
    await eventually(() => ids().length).toBe(4)
    await eventually(() => broker.depth(channel, 'bill')).toBe(1)
  })

  for (const ordering of ['none', 'by-key'] as const)
    it(`E21: with ordering '${ordering}' a subscriber is told that the server is away, and that it is back`, async () => {
      const { statuses } = await subscribe(open(), uniqueName('away'), { ordering })
      await service!.nodes[0]!.kill()
      await eventually(() => statuses).toMatchObject([
        { state: 'stalled', place: 'deliveries', error: { code: 'LAZARET_BROKER_UNREACHABLE' } },
      ])
      await service!.nodes[0]!.start()
      await eventually(() => statuses.at(-1)).toEqual({ state: 'recovered', place: 'deliveries' })
    })

  for (const ordering of ['none', 'by-key'] as const)
    it(`P2: with ordering '${ordering}' a message of the channel is an event, whatever its headers say of attempts`, async () => {
      const channel = uniqueName('forged')
      const { deliveries } = await subscribe(open(), channel, { ordering })
      const outside = new OutsideNats(service!.url)
      const year = 31_536_000_000
      const log = JSON.stringify({ started: 99, notBefore: systemClock.now() + year, waitMs: year })
      await outside.link.call(`${channel}.order`, new TextEncoder().encode('{}'), [['lazaret-log', log]])
      await outside.close()
      await eventually(() => deliveries.map(({ started }) => started)).toEqual([0])
    })

  it('B3: many long waits hold up nobody', async () => {
    const channel = uniqueName('waits')
    const broker = open()
    const { subscription, deliveries, ids } = await subscribe(broker, channel)
    await broker.publish(make.events(300, { channel }))
    const notBefore = systemClock.now() + 3_600_000
    for (let settled = 0; settled < 300; settled++) {
      await eventually(() => deliveries.length).toBeGreaterThan(settled)
      await subscription.settle(deliveries[settled]!, { outcome: 'retry', notBefore, ended: [] })
    }
    const [last] = make.events(1, { channel })
    await broker.publish([last!])
    await eventually(() => ids().at(-1)).toBe(last!.id)
    await eventually(() => broker.depth(channel, 'bill')).toBe(301)
  })

  it('B9: after the death of the owner another consumer keeps the order, and no event passes those that the dead one had', async () => {
    const channel = uniqueName('owner')
    const { broker, die } = mortal()
    const owner = await subscribe(broker, channel, { ordering: 'by-key' })
    const next = await subscribe(open(), channel, { ordering: 'by-key' })
    const publisher = open()
    const events = make.events(3, { channel, key: 'a' })
    await publisher.publish(events.slice(0, 2))
    await eventually(() => owner.ids()).toEqual([events[0]!.id])
    await die()
    await publisher.publish(events.slice(2))
    for (const [index, event] of events.entries()) {
      await eventually(() => next.ids().length).toBe(index + 1)
      expect(next.ids()[index]).toBe(event.id)
      await next.subscription.settle(next.deliveries[index]!, { outcome: 'done' })
    }
  })

  it('B9: events that came while the lease of the owner had run out are delivered when it is renewed', async () => {
    const channel = uniqueName('late')
    const later = { ms: 0 }
    const clock: Clock = { ...systemClock, monotonic: () => systemClock.monotonic!() + later.ms }
    const { ids } = await subscribe(open({ clock }), channel, { ordering: 'by-key' })
    const [before, after] = make.events(2, { channel, key: 'a' })
    const publisher = open()
    await publisher.publish([before!])
    await eventually(() => ids()).toEqual([before!.id])
    later.ms = TIMES.leaseMs
    const [other] = make.events(1, { channel, key: 'b' })
    await publisher.publish([after!, other!])
    await eventually(() => ids()).toEqual([before!.id, other!.id])
  })

  it('B9: thousands of events behind a blocked key hold up no other key, and keep their order', async () => {
    const channel = uniqueName('behind')
    // A busy machine must not lose the order meanwhile.
    const broker = open({ leaseMs: 10 * TIMES.leaseMs })
    const { subscription, deliveries, ids } = await subscribe(broker, channel, { ordering: 'by-key' })
    const events = make.events(2_500, { channel, key: 'blocked' })
    await broker.publish(events)
    await eventually(() => ids()).toEqual([events[0]!.id])
    const dead = deliveries[0]!
    const letter = make.letter({ event: events[0]!, channel })
    await subscription.settle(dead, { outcome: 'dead', letter, saved: true })
    const [other] = make.events(1, { channel, key: 'free' })
    await broker.publish([other!])
    await eventually(() => ids().at(-1)).toBe(other!.id)
    await broker.unblockKey(channel, events[0]!.id)
    for (const [index, event] of events.slice(1, 20).entries()) {
      await eventually(() => deliveries.length).toBe(index + 3)
      expect(ids().at(-1)).toBe(event.id)
      await subscription.settle(deliveries.at(-1)!, { outcome: 'done' })
    }
  })
})
