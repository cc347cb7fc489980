import { afterEach, describe, expect, it } from 'vitest'
import { deliveryWorld } from '../../test/support/delivery-world.ts'
import { sinkWorld } from '../../test/support/sink-delivery-world.ts'
import type { FleetMembership } from '../runtime/fleet/join-fleet.ts'
import { sleep } from '../runtime/sleep.ts'
import type { FakeClock } from '../testing/fake-clock.ts'
import { pauseReplay, resumeReplay, startReplay } from './control.ts'
import { EmptyPlanError } from './empty-plan.ts'
import { replayThroughFleet } from './fleet-target.ts'
import { runReplay } from './runner.ts'
import { sinkReplays } from './sink-replays.ts'

const ends: FleetMembership[] = []
// The clock of a test that failed drives its members no more.
afterEach(() => void ends.splice(0))
const leave = async (clock: FakeClock) => {
  for (const member of ends.splice(0)) {
    const left = member.close()
    await clock.advance(10_000)
    await left
  }
}

describe('letters whose broker only their service can reach', () => {
  it('B18: a living process that owns the consumer sends them, in the same stages and at the same rate', async () => {
    const { clock, store, fail, join, start, run, until, handled, published } = deliveryWorld(30)
    await fail()
    ends.push(await join('orders'))
    await clock.advance(1_000)
    const id = await start()
    const startedAt = clock.now()
    const ended = await until(run(id))
    expect(ended).toMatchObject({ state: 'finished', stage: 2 })
    expect(await store.replays.counts(id)).toMatchObject({ recovered: 30 })
    expect(new Set(handled).size).toBe(30)
    expect(published).toHaveLength(30)
    // 50 a second: 30 letters need 580 ms, and each delivery waits for the next look at the commands.
    expect(clock.now() - startedAt).toBeGreaterThanOrEqual(580)
    await leave(clock)
  })

  it('B18: the halt rules hold there too', async () => {
    const { clock, store, fail, join, start, run, until, shop } = deliveryWorld(12)
    await fail()
    shop.isBroken = true
    ends.push(await join('orders'))
    await clock.advance(1_000)
    const id = await start()
    const ended = await until(run(id))
    expect(ended).toMatchObject({ state: 'halted', stateReason: expect.stringContaining('same cause') })
    expect(await store.replays.counts(id)).toMatchObject({ failed_same_cause: 1, waiting: 11 })
    await leave(clock)
  })

  it('B18: without such a process the plan says skip_unreachable, and what is missing', async () => {
    const { clock, fail, join, plan, make, store } = deliveryWorld(2)
    await fail()
    await store.deadLetters.send(make.letter({ channel: 'orders', handler: 'crm', origin: {} }))
    ends.push(await join('other', { consumers: [] }))
    await clock.advance(1_000)
    const error = await plan().catch((caught: unknown) => caught)
    expect(error).toBeInstanceOf(EmptyPlanError)
    expect((error as EmptyPlanError).findings).toEqual({ skip_unreachable: 3 })
    expect((error as EmptyPlanError).skipped.map(({ reason }) => reason).sort()).toEqual([
      expect.stringMatching(
        /^it came from broker 'rabbitmq', and no broker named 'rabbitmq' is configured; .*; no living process consumes orders\/ship from 'rabbitmq' either$/,
      ),
      expect.stringContaining("no living process consumes orders/ship from 'rabbitmq' either"),
      expect.stringContaining("no living process has the sink 'crm' either"),
    ])
    await leave(clock)
  })

  it('B18: a process that hangs in a delivery loses it, and another one sends each other letter once', async () => {
    const { clock, store, fail, join, start, run, until, handled, published, shop } = deliveryWorld(40)
    await fail()
    ends.push(await join('one'))
    await clock.advance(1_000)
    const id = await start()
    let sends = 0
    shop.beforePublish = by => (by === 'one' && ++sends === 6 ? new Promise(() => {}) : Promise.resolve())
    const running = run(id)
    while (sends < 6) await clock.advance(100)
    ends.push(await join('two'))
    const ended = await until(running)
    expect(ended.state).toBe('finished')
    expect(await store.replays.counts(id)).toMatchObject({ recovered: 40 })
    expect([...handled].sort()).toEqual([...new Set(handled)].sort())
    expect(published).toHaveLength(40)
    expect(published.filter(each => each.startsWith('two'))).toHaveLength(35)
    shop.beforePublish = async () => {}
    ends.shift()
    await leave(clock)
  })

  it('B18: a process that has closed its consumer sends nothing, and another one does', async () => {
    const { clock, store, fail, consumerOf, join, start, run, until, published } = deliveryWorld(5)
    await fail()
    const closed = await consumerOf('one')
    ends.push(await join('one', { consumers: [closed] }))
    await clock.advance(1_000)
    const id = await start()
    // The last report of the process still has the consumer.
    await closed.close()
    const running = run(id)
    await clock.advance(1_000)
    expect(published).toEqual([])
    ends.push(await join('two'))
    expect((await until(running)).state).toBe('finished')
    expect(published.map(each => each.split(' ')[0])).toEqual(Array(5).fill('two'))
    expect(await store.replays.counts(id)).toMatchObject({ recovered: 5 })
    await leave(clock)
  })

  it('B18: a delivery that comes to its process too late sends nothing', async () => {
    const { clock, store, fail, join, start, run, until, published, shop } = deliveryWorld(5)
    await fail()
    ends.push(await join('one'))
    await clock.advance(1_000)
    const id = await start()
    const late = Promise.withResolvers<void>()
    // The process stalls after it has taken the delivery, until another one has done the work.
    const { items } = store.replays
    let isStalled = false
    store.replays.items = async (...of) => {
      const [, query] = of
      if (!isStalled && query?.limit === 1 && query.status === undefined) {
        isStalled = true
        await late.promise
      }
      return items.apply(store.replays, of)
    }
    const running = run(id)
    while (!isStalled) await clock.advance(100)
    ends.push(await join('two'))
    expect((await until(running)).state).toBe('finished')
    const before = published.length
    late.resolve()
    await clock.advance(10_000)
    expect(published).toHaveLength(before)
    expect(published.map(each => each.split(' ')[1]).sort()).toEqual([
      ...new Set(published.map(each => each.split(' ')[1]).sort()),
    ])
    shop.beforePublish = async () => {}
    await leave(clock)
  })

  it('B18: a process that learns of its delivery too late leaves the items to the process that has them now', async () => {
    const { clock, store, fail, join, start, run, until, reach, published, shop } = deliveryWorld(5)
    await fail()
    const one = await join('one')
    ends.push(one)
    await clock.advance(1_000)
    const id = await start()
    // The store has given the delivery to the first process, but the answer comes much later.
    const late = Promise.withResolvers<void>()
    const commands = store.commands!
    const { claim } = commands
    let isClaimed = false
    commands.claim = async (...of) => {
      const claimed = await claim.apply(commands, of)
      if (of[0] === one.id && claimed.length > 0) {
        isClaimed = true
        await late.promise
      }
      return claimed
    }
    // The second process has the same item, and is about to publish it.
    const open = Promise.withResolvers<void>()
    let isSending = false
    shop.beforePublish = async by => {
      if (by !== 'two') return
      isSending = true
      await open.promise
    }
    const running = run(id)
    await reach(() => isClaimed)
    ends.push(await join('two'))
    await reach(() => isSending)
    late.resolve()
    await clock.advance(100)
    expect(published).toEqual([])
    open.resolve()
    expect((await until(running)).state).toBe('finished')
    expect(await store.replays.counts(id)).toMatchObject({ recovered: 5 })
    expect(published).toHaveLength(5)
    await leave(clock)
  })

  it('B18: a runner that ends hands over to the next one, and nothing is sent twice', async () => {
    const { clock, store, environment, fail, join, start, target, until, published } = deliveryWorld(40)
    await fail()
    ends.push(await join('one'))
    await clock.advance(1_000)
    const id = await start()
    const stop = new AbortController()
    const first = runReplay(store, id, { target: target(), environment, owner: 'a', signal: stop.signal })
    while (published.length < 15) await clock.advance(50)
    stop.abort()
    expect((await until(first)).state).toBe('running')
    const ended = await until(runReplay(store, id, { target: target(), environment, owner: 'b' }))
    expect(ended.state).toBe('finished')
    expect(published).toHaveLength(40)
    expect(await store.replays.counts(id)).toMatchObject({ recovered: 40 })
    await leave(clock)
  })

  it('B18: a pause takes effect between two letters', async () => {
    const { clock, store, fail, join, run, until, plan, published } = deliveryWorld(40)
    await fail()
    ends.push(await join('one'))
    await clock.advance(1_000)
    const { id } = await plan()
    await startReplay(store, id, { by: 'ann', clock })
    const running = run(id)
    while (published.length < 13) await clock.advance(20)
    await pauseReplay(store, id, { by: 'ann', clock })
    await clock.advance(50)
    const sent = published.length
    expect((await until(running)).state).toBe('paused')
    expect(published.length).toBe(sent)
    expect(sent).toBeLessThan(17)
    await resumeReplay(store, id, { by: 'ann', clock })
    expect((await until(run(id))).state).toBe('finished')
    expect(published).toHaveLength(40)
    await leave(clock)
  })
})

describe('letters of sinks in other processes', () => {
  it('B18: the process that has the sink sends them, each to this sink alone', async () => {
    const { clock, store, joinWith, start, run, until, written } = await sinkWorld()
    ends.push(await joinWith('one'))
    await clock.advance(1_000)
    const id = await start()
    expect((await until(run(id))).state).toBe('finished')
    expect(await store.replays.counts(id)).toMatchObject({ recovered: 12 })
    expect(written).toHaveLength(12)
    await leave(clock)
  })

  it('B18: the events of a process that is gone go to another one; those of a living one stay there', async () => {
    const { clock, store, joinWith, runUntilWritten, start, environment, target, until, written } =
      await sinkWorld()
    // The sink of the first process never answers.
    const first = await joinWith('one', () => new Promise(() => {}))
    await clock.advance(1_000)
    const id = await start()
    await runUntilWritten(id, target())
    // The next runner waits for the living process, also if another one could send its letter.
    ends.push(await joinWith('two'))
    await clock.advance(1_000)
    const next = runReplay(store, id, { target: target(), environment, owner: 'b' })
    await clock.advance(3_000)
    expect(written).toHaveLength(1)
    const left = first.close()
    expect((await until(next)).state).toBe('finished')
    await left
    expect(await store.replays.counts(id)).toMatchObject({ recovered: 12 })
    expect(written.filter(each => each.startsWith('two'))).toHaveLength(12)
    await leave(clock)
  })

  it.each(['refuses', 'does not answer'] as const)(
    'B18: a replay does not stand still when the store %s once after the sink has the event',
    async how => {
      const { clock, store, joinWith, start, run, until, written } = await sinkWorld()
      ends.push(await joinWith('one'))
      await clock.advance(1_000)
      const id = await start()
      const change = store.deadLetters.change.bind(store.deadLetters)
      store.deadLetters.change = (letter, asked) => {
        if (asked.to !== 'resolved') return change(letter, asked)
        store.deadLetters.change = change
        return how === 'refuses' ? Promise.reject(new Error('away')) : new Promise(() => {})
      }
      await until(run(id))
      expect(await store.replays.counts(id)).toMatchObject({ recovered: 12 })
      expect(written).toHaveLength(12)
      await leave(clock)
    },
  )

  it('B18: a process that leaves in order lets its sink finish, so that no other one sends the event too', async () => {
    const { clock, joinWith, start, run, until, written } = await sinkWorld()
    const first = await joinWith('one', () => sleep(clock, 4_000))
    await clock.advance(1_000)
    const id = await start()
    const running = run(id)
    while (written.length < 1) await clock.advance(100)
    ends.push(await joinWith('two'))
    await clock.advance(1_000)
    await until(Promise.all([first.close(), running]))
    expect(written).toHaveLength(12)
    await leave(clock)
  })

  it('B18: a process that closes its dispatcher leaves the rest of its letters to another one', async () => {
    const { clock, store, sinkOf, join, joinWith, start, run, until, reach, written } = await sinkWorld()
    const dispatcher = sinkOf('one')
    ends.push(await join('one', { consumers: [], dispatchers: [dispatcher] }))
    await clock.advance(1_000)
    const id = await start()
    const running = run(id)
    await reach(() => written.length >= 3, 10)
    const closed = dispatcher.close()
    ends.push(await joinWith('two'))
    expect((await until(running)).state).toBe('finished')
    await until(closed)
    expect(await store.replays.counts(id)).toMatchObject({ recovered: 12 })
    expect(written).toHaveLength(12)
    expect(written.filter(each => each.startsWith('two')).length).toBeGreaterThan(0)
    await leave(clock)
  })

  it('B18: a runner that has the sink itself does not send what a living process holds', async () => {
    const { clock, store, joinWith, sinkOf, runUntilWritten, start, environment, target, until, written } =
      await sinkWorld()
    const first = await joinWith('one', () => new Promise(() => {}))
    await clock.advance(1_000)
    const id = await start()
    await runUntilWritten(id, target())
    const own = sinkReplays(sinkOf('server'), store.deadLetters)
    const both = replayThroughFleet(store, own, environment)!
    const next = runReplay(store, id, { target: both, environment, owner: 'b' })
    await clock.advance(3_000)
    expect(written).toHaveLength(1)
    const left = first.close()
    expect((await until(next)).state).toBe('finished')
    await left
    expect(await store.replays.counts(id)).toMatchObject({ recovered: 12 })
    expect(written.filter(each => each.startsWith('server'))).toHaveLength(12)
  })

  it('B18: a living process sends what the sink of a runner that has ended still held', async () => {
    const { clock, store, joinWith, sinkOf, runUntilWritten, start, environment, run, until, written } =
      await sinkWorld()
    ends.push(await joinWith('one'))
    await clock.advance(1_000)
    const id = await start()
    const own = sinkReplays(
      sinkOf('server', () => new Promise(() => {})),
      store.deadLetters,
    )
    const both = replayThroughFleet(store, own, environment)!
    await runUntilWritten(id, both)
    expect((await until(run(id))).state).toBe('finished')
    expect(await store.replays.counts(id)).toMatchObject({ recovered: 12 })
    expect(written.filter(each => each.startsWith('one'))).toHaveLength(12)
    await leave(clock)
  })
})
