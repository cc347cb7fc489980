import { describe, expect, it } from 'vitest'
import { sinkWorld } from '../../test/support/sink-delivery-world.ts'
import type { ReplayItem } from '../ports/replays.ts'
import type { Sink } from '../ports/sink.ts'
import { HOLD_MS } from '../runtime/fleet/item-hold.ts'
import { sleep } from '../runtime/sleep.ts'
import { FleetItems } from './fleet-items.ts'

const twiceIn = (written: readonly string[]) => {
  const ids = written.map(each => each.split(' ')[1]!)
  return ids.filter((id, at) => ids.indexOf(id) !== at)
}

describe('letters that a sink of another process holds', () => {
  it('B18: a process that others take for gone does not send what they have sent, when it goes on', async () => {
    const { clock, store, sinkOf, join, joinWith, silence, start, run, until, reach, written } =
      await sinkWorld()
    const dispatcher = sinkOf('one', async () => {}, { breaker: {}, whenOpen: 'wait' })
    const breaker = dispatcher.breaker('crm')!
    breaker.force('open')
    const one = await join('one', { consumers: [], dispatchers: [dispatcher] })
    await clock.advance(1_000)
    const id = await start({ stages: ['rest'], perSecond: 20 })
    const running = run(id)
    await reach(() => dispatcher.health().sinks.crm.buffered === 12)
    const endSilence = silence(one.id)
    const two = await joinWith('two')
    expect((await until(running)).state).toBe('finished')
    endSilence()
    breaker.force('closed')
    await clock.advance(60_000)
    expect(written.map(each => each.split(' ')[0])).toEqual(Array(12).fill('two'))
    expect(twiceIn(written)).toEqual([])
    expect(dispatcher.health().sinks.crm.buffered).toBe(0)
    expect(await store.replays.counts(id)).toMatchObject({ recovered: 12 })
    await until(Promise.all([one.close(), two.close()]))
  })

  it('B18: a process that was silent and is back before anyone took its letters sends them', async () => {
    const { clock, store, sinkOf, join, joinWith, silence, start, run, until, reach, written } =
      await sinkWorld()
    const dispatcher = sinkOf('one', async () => {}, { breaker: {}, whenOpen: 'wait' })
    const breaker = dispatcher.breaker('crm')!
    breaker.force('open')
    const one = await join('one', { consumers: [], dispatchers: [dispatcher] })
    await clock.advance(1_000)
    const running = run(await start({ stages: ['rest'], perSecond: 20 }))
    await reach(() => dispatcher.health().sinks.crm.buffered === 12)
    const two = await joinWith('two')
    const endSilence = silence(one.id)
    // Longer than its lease of 15 s, as when the store was restarted.
    await clock.advance(18_000)
    endSilence()
    await clock.advance(10_000)
    breaker.force('closed')
    expect((await until(running)).state).toBe('finished')
    expect(written.map(each => each.split(' ')[0])).toEqual(Array(12).fill('one'))
    expect(await store.deadLetters.stats()).toMatchObject({ byState: { resolved: 12 } })
    await until(Promise.all([one.close(), two.close()]))
  })

  it('B18: the letters of a process that is gone are given to one process each, however many rounds that takes', async () => {
    const { clock, store, sinkOf, join, silence, start, run, until, reach, written } = await sinkWorld()
    const joinWith = (name: string, write: Sink['write']) =>
      join(name, {
        consumers: [],
        dispatchers: [sinkOf(name, write, { concurrency: 20, timeoutMs: 3_600_000 })],
      })
    const one = await joinWith('one', () => new Promise(() => {}))
    await clock.advance(1_000)
    // Four letters in a delivery.
    const running = run(await start({ stages: ['rest'], perSecond: 2 }))
    await reach(() => written.length === 12)
    silence(one.id)
    const two = await joinWith('two', () => sleep(clock, 60_000))
    await reach(() => written.length === 24)
    // The second process sends still. From now on only the third one takes deliveries.
    const three = await joinWith('three', async () => {})
    const commands = store.commands!
    const { claim } = commands
    commands.claim = async (...of) => (of[0] === two.id ? [] : claim.apply(commands, of))
    expect((await until(running)).state).toBe('finished')
    expect(written.slice(12).map(each => each.split(' ')[0])).toEqual(Array(12).fill('two'))
    expect(twiceIn(written.slice(12))).toEqual([])
    await until(Promise.all([two.close(), three.close()]))
    void one.close()
  })
})

describe('items that are taken back', () => {
  const item = (position: number): ReplayItem => ({
    ...{ position, letterId: `letter-${position}`, decision: 'replay', status: 'sent', sentAt: 1, cycle: 1 },
    ...{ delivery: 'delivery-1', heldBy: 'process-1', handedOn: 'in-process' },
  })

  it('B18: name no delivery at once, and are free when a process that looked right before can no longer begin to send', async () => {
    const { clock, store, start, joinWith, until } = await sinkWorld()
    const one = await joinWith('one')
    await clock.advance(1_000)
    const id = await start({ ids: [(await store.deadLetters.list()).letters[0]!.id], filter: undefined })
    await store.replays.record(id, [item(0)])
    const taken: ReplayItem[] = []
    const fleetItems = new FleetItems(store.replays, id, clock)
    void fleetItems.takeBack([item(0)]).then(free => taken.push(...free))
    await clock.advance(0)
    expect((await store.replays.items(id))[0]).not.toHaveProperty('delivery')
    await clock.advance(HOLD_MS)
    expect(taken).toEqual([])
    await clock.advance(HOLD_MS)
    expect(taken).toEqual(await store.replays.items(id))
    await until(one.close())
  })
})
