import { describe, expect, it } from 'vitest'
import { sinkWorld } from '../../test/support/sink-delivery-world.ts'
import { memoryStore } from '../adapters/memory/index.ts'
import { itemsOf, replayOf } from '../testing/conformance/store/replays.ts'
import { runReplay } from './runner.ts'
import { SentItems } from './sent-items.ts'
import { sinkReplays } from './sink-replays.ts'

/** A server with the sink `crm`, whose breaker is open, so that letters wait in its dispatcher. */
async function serverWithLetters() {
  const world = await sinkWorld()
  const { store, environment, sinkOf, start, until, reach } = world
  const dispatcher = sinkOf('one', async () => {}, { breaker: {}, whenOpen: 'wait' })
  const breaker = dispatcher.breaker('crm')!
  breaker.force('open')
  const runWith = (given: typeof dispatcher, owner: string, signal?: AbortSignal) =>
    runReplay(store, id, { target: sinkReplays(given, store.deadLetters), environment, owner, signal })
  // The plan is made where a process has the sink.
  const planner = await world.joinWith('planner')
  await world.clock.advance(1_000)
  const id = await start({ stages: ['rest'], perSecond: 20 })
  await until(planner.close())
  const stop = new AbortController()
  const running = runWith(dispatcher, 'first', stop.signal)
  await reach(() => dispatcher.health().sinks.crm.buffered === 12)
  stop.abort()
  await until(running)
  return { ...world, id, dispatcher, breaker, runWith }
}

describe('letters that a server sends through its own sink', () => {
  it('B11: are not sent by a process that stood still when another server has sent them', async () => {
    const { clock, store, sinkOf, until, written, id, dispatcher, breaker, runWith } =
      await serverWithLetters()
    expect((await until(runWith(sinkOf('two'), 'second'))).state).toBe('finished')
    breaker.force('closed')
    await clock.advance(60_000)
    expect(written.map(each => each.split(' ')[0])).toEqual(Array(12).fill('two'))
    expect(dispatcher.health().sinks.crm.buffered).toBe(0)
    expect(await store.replays.counts(id)).toMatchObject({ recovered: 12 })
  })

  it('B11: are sent once when the next runner is in the same process', async () => {
    const { clock, store, until, written, id, dispatcher, breaker, runWith } = await serverWithLetters()
    const running = runWith(dispatcher, 'second')
    await clock.advance(10_000)
    breaker.force('closed')
    expect((await until(running)).state).toBe('finished')
    expect(new Set(written).size).toBe(12)
    expect(written).toHaveLength(12)
    expect(await store.replays.counts(id)).toMatchObject({ recovered: 12 })
  })

  it('B11: stay with the run that took them when another one records late that it sent them', async () => {
    const { replays } = memoryStore()
    const [item] = itemsOf(1).map(each => ({ ...each, status: 'sent', delivery: 'own:second' }) as const)
    await replays.create(replayOf('one'), [item!])
    const sent = new SentItems(replays, 'one')
    sent.add({ ...item!, delivery: 'own:first' }, { kind: 'in-process', via: 'this process' })
    await sent.record()
    expect(await replays.items('one')).toEqual([item])
  })
})

describe('letters that a sink of the fleet holds', () => {
  it('B18: go on under the new delivery if the same process gets them again', async () => {
    const { clock, store, sinkOf, join, start, run, until, reach, written } = await sinkWorld()
    const dispatcher = sinkOf('one', async () => {}, { breaker: {}, whenOpen: 'wait' })
    const breaker = dispatcher.breaker('crm')!
    breaker.force('open')
    const one = await join('one', { consumers: [], dispatchers: [dispatcher] })
    await clock.advance(1_000)
    const id = await start({ stages: ['rest'], perSecond: 20 })
    const { replays } = store
    const { record } = replays
    let failures = 0
    replays.record = async (...of) => {
      // The process has given the letter to its sink, and cannot record that.
      if (of[2]?.delivery !== undefined && failures++ === 0) throw new Error('the connection is lost')
      return record.apply(replays, of)
    }
    const running = run(id)
    await reach(() => dispatcher.health().sinks.crm.buffered === 12)
    await clock.advance(20_000)
    breaker.force('closed')
    expect((await until(running)).state).toBe('finished')
    expect(new Set(written).size).toBe(12)
    expect(written).toHaveLength(12)
    await until(one.close())
  })
})
