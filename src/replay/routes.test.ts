import { beforeEach, describe, expect, it } from 'vitest'
import type { Origin } from '../core/dead-letter/letter.ts'
import type { Collector } from '../ports/collector.ts'
import { replayEvent } from '../runtime/replay-event.ts'
import { createFactory } from '../testing/factories.ts'
import { FakeClock } from '../testing/fake-clock.ts'
import { replayToBroker, routeReplays } from './routes.ts'
import { sinkReplays } from './sink-replays.ts'
import type { ReplayTarget } from './target.ts'

const make = createFactory({ clock: new FakeClock() })
const letter = make.letter()
const again = replayEvent(letter, { id: 'r', to: undefined } as never, 1)

let sent: string[]
let sinks: ReplayTarget
const broker = { name: 'sqlite', publish: async () => void sent.push('broker') }
beforeEach(() => {
  sent = []
  sinks = { send: async () => void sent.push('sinks') }
})

describe('the route of letters from a store that is a broker', () => {
  it('E17: is another one for those that came from no broker', async () => {
    await replayToBroker(broker, sinks).send([again], {})
    await replayToBroker(broker, sinks).send([again], { broker: 'sqlite' })
    expect(sent).toEqual(['sinks', 'broker'])
  })

  it('B18: does not exist for an event without a broker, or of another broker, if no collector or sink takes it', async () => {
    const target = replayToBroker(broker, undefined)
    for (const origin of [{}, { broker: 'rabbitmq' }]) {
      expect(target.routeOf!({ ...letter, origin }, undefined)).toMatchObject({ kind: 'none' })
      await expect(target.send([again], origin)).rejects.toMatchObject({ code: 'LAZARET_BROKER_UNROUTABLE' })
    }
    expect(sent).toEqual([])
  })

  it('B18: does not exist for an event of a broker of the same name and another kind', async () => {
    const own = { ...broker, name: 'shop', kind: 'postgres' }
    const origin = { broker: 'shop', brokerKind: 'rabbitmq' }
    for (const target of [replayToBroker(own, undefined), routeReplays([], undefined, [own])!]) {
      expect(target.routeOf!({ ...letter, origin }, undefined)).toMatchObject({
        kind: 'none',
        reason: expect.stringContaining("no rabbitmq broker named 'shop' is configured"),
      })
      await expect(target.send([again], origin)).rejects.toMatchObject({ code: 'LAZARET_BROKER_UNROUTABLE' })
      // A letter of an earlier version does not say the kind.
      for (const known of [{ broker: 'shop' }, { broker: 'shop', brokerKind: 'postgres' }])
        expect(target.routeOf!({ ...letter, origin: known }, undefined)).toMatchObject({ kind: 'durable' })
    }
  })

  it('B18: does not exist for the letter of a broker whose handler has the name of a sink', async () => {
    const dispatcher = { health: () => ({ sinks: { loki: {} } }) } as never
    const sinkTarget = sinkReplays(dispatcher, { get: async () => undefined })
    const target = replayToBroker(broker, sinkTarget)
    const routeTo = async (handler: string, origin: Origin) =>
      (await target.routeOf!({ channel: 'orders', handler, origin }, undefined)).kind
    expect(await routeTo('loki', {})).toBe('in-process')
    expect(await routeTo('loki', { broker: 'rabbitmq' })).toBe('none')
    expect(await routeTo('sentry', {})).toBe('none')
    expect(await routeTo('loki', { broker: 'sqlite' })).toBe('durable')
  })

  it('B18: is the one of their collector for letters of its broker, and for no others', () => {
    const collector = { name: 'rabbitmq' } as Collector
    const target = routeReplays([collector], replayToBroker(broker, undefined))!
    const routeTo = (origin: Origin, to?: string) =>
      target.routeOf!({ channel: 'orders', handler: 'h', origin }, to)
    expect(routeTo({ broker: 'rabbitmq', collectedFrom: 'q' })).toEqual({
      kind: 'durable',
      via: 'rabbitmq',
    })
    expect(routeTo({ broker: 'rabbitmq', queue: 'q' })).toEqual({ kind: 'durable', via: 'rabbitmq' })
    expect(routeTo({ broker: 'other' })).toMatchObject({
      kind: 'none',
      reason: expect.stringContaining("no broker named 'other' is configured"),
    })
    expect(routeTo({ broker: 'other', collectedFrom: 'q' })).toMatchObject({
      kind: 'none',
      reason: expect.stringContaining("configure a collector named 'other'"),
    })
    expect(routeTo({ broker: 'other', collectedFrom: 'q' }, 'orders')).toMatchObject({ via: 'sqlite' })
    expect(routeTo({ broker: 'sqlite', queue: 'orders' })).toMatchObject({ via: 'sqlite' })
  })

  it('B18: sends a letter through the collector of its broker, and each other letter to the store or nowhere', async () => {
    const collector = {
      name: 'rabbitmq',
      send: async () => void sent.push('rabbitmq'),
    } as unknown as Collector
    const target = routeReplays([collector], replayToBroker(broker, sinks))!
    const redirected = replayEvent(letter, { id: 'r', to: 'orders-2' } as never, 1)
    await target.send([again], { broker: 'rabbitmq', queue: 'q' })
    await target.send([again], { broker: 'rabbitmq', collectedFrom: 'q.dlq' })
    await target.send([redirected], { broker: 'rabbitmq' })
    await target.send([again], { broker: 'sqlite' })
    await target.send([again], {})
    expect(sent.splice(0)).toEqual(['rabbitmq', 'rabbitmq', 'rabbitmq', 'broker', 'sinks'])
    const elsewhere = { broker: 'other', collectedFrom: 'q.dlq' }
    await expect(target.send([again], elsewhere)).rejects.toMatchObject({ code: 'LAZARET_BROKER_UNROUTABLE' })
    expect(sent).toEqual([])
    await target.send([redirected], elsewhere)
    expect(sent).toEqual(['broker'])
  })

  it('B18: is the broker that the config names for letters of it, but not for those that a collector found', async () => {
    const collector = {
      name: 'rabbitmq',
      send: async () => void sent.push('collector'),
    } as unknown as Collector
    const rabbitmq = { name: 'rabbitmq', publish: async () => void sent.push('rabbitmq') }
    const target = routeReplays([collector], replayToBroker(broker, sinks), [rabbitmq])!
    const redirected = replayEvent(letter, { id: 'r', to: 'orders-2' } as never, 1)
    await target.send([again], { broker: 'rabbitmq', queue: 'q' })
    await target.send([redirected], { broker: 'rabbitmq' })
    await target.send([again], { broker: 'rabbitmq', collectedFrom: 'q.dlq' })
    await target.send([again], { broker: 'sqlite' })
    await target.send([again], {})
    expect(sent).toEqual(['rabbitmq', 'rabbitmq', 'collector', 'broker', 'sinks'])
    const alone = routeReplays([], undefined, [rabbitmq])!
    const routeTo = (origin: Origin) => alone.routeOf!({ channel: 'orders', handler: 'h', origin }, undefined)
    expect(routeTo({ broker: 'rabbitmq' })).toEqual({ kind: 'durable', via: 'rabbitmq' })
    expect(routeTo({ broker: 'rabbitmq', collectedFrom: 'q.dlq' })).toMatchObject({ kind: 'none' })
    expect(routeTo({ broker: 'other' })).toMatchObject({ kind: 'none' })
  })

  it('B13: is the broker for an event that goes to another channel', async () => {
    const redirected = replayEvent(letter, { id: 'r', to: 'orders-2' } as never, 1)
    await replayToBroker(broker, sinks).send([redirected], {})
    expect(sent).toEqual(['broker'])
  })
})
