import { describe, expect, it } from 'vitest'
import { createWorldAfterOutage } from '../../test/support/outage.ts'
import type { LazaretEvent } from '../core/event/event.ts'
import { LazaretError } from '../core/failure/errors.ts'
import { reopenLetter } from '../operations/decide.ts'
import { cancelReplay, pauseReplay } from './control.ts'
import { recordLateOutcomes } from './outcomes.ts'
import { runReplay } from './runner.ts'
import type { ReplayTarget } from './target.ts'

const SLOW = { perSecond: 0.1, stages: ['rest'] } as const

/** A replay of one letter every ten seconds that has sent its first. */
async function waitingForItsTurn() {
  const it = await createWorldAfterOutage(5)
  it.world.broken = () => false
  const replay = await it.plan(SLOW)
  await it.start(replay)
  const stop = new AbortController()
  const run = it.runAs('runner', replay, stop.signal)
  await it.clock.advance(1_000)
  expect(it.sends).toHaveLength(1)
  return { ...it, replay, stop, run }
}

describe('a replay is stopped', () => {
  it.each([
    ['cancelled', cancelReplay],
    ['paused', pauseReplay],
  ] as const)('B11: while it waits for its turn: %s, it sends no more', async (state, steer) => {
    const it = await waitingForItsTurn()
    await steer(it.store, it.replay.id, it.ann)
    await it.clock.advance(60_000)
    expect(await it.run).toMatchObject({ state })
    expect(it.sends).toHaveLength(1)
    expect((await it.store.deadLetters.stats()).byState).toEqual({ resolved: 1, dead: 4 })
  })

  it('B11: an abort in that wait ends the run at once, and sends nothing', async () => {
    const it = await waitingForItsTurn()
    it.stop.abort()
    await it.clock.advance(1)
    expect(await it.run).toMatchObject({ state: 'running' })
    expect(it.sends).toHaveLength(1)
  })

  it('K8: what changes in that wait is seen before the letter is sent', async () => {
    const it = await waitingForItsTurn()
    const [next] = await it.store.replays.items(it.replay.id, { status: 'waiting', limit: 1 })
    await it.store.deadLetters.change(next!.letterId, { to: 'discarded', at: it.clock.now() })
    await it.clock.advance(10_000)
    expect((await it.store.replays.items(it.replay.id))[next!.position]).toMatchObject({
      status: 'skipped',
      reason: 'it is discarded',
    })
    it.stop.abort()
    await it.run
  })

  it('B11: cancelled just before the last step, the letter is given back and not sent', async () => {
    const it = await createWorldAfterOutage(1)
    const replay = await it.plan()
    await it.start(replay)
    const { replays } = it.store
    const record = replays.record.bind(replays)
    replays.record = async (id, items) => {
      if (items[0]?.status === 'sent') await cancelReplay(it.store, id, it.ann)
      await record(id, items)
    }
    expect(await it.run(replay)).toMatchObject({ state: 'cancelled' })
    expect(it.sends).toEqual([])
    expect(await replays.counts(replay.id)).toMatchObject({ waiting: 1, sent: 0 })
    expect((await it.store.deadLetters.stats()).byState).toEqual({ dead: 1 })
  })

  it.each(['the next runner', 'a cancellation'] as const)(
    'B11: %s returns a letter that a runner gave up and could not return',
    async who => {
      const it = await createWorldAfterOutage(1)
      const replay = await it.plan()
      await it.start(replay)
      const { deadLetters, replays } = it.store
      const change = deadLetters.change.bind(deadLetters)
      deadLetters.change = async (id, asked) => {
        if (asked.to === 'dead') throw new Error('the store is away')
        return change(id, asked)
      }
      const gone = { code: 'LAZARET_BROKER_UNROUTABLE', retryable: false } as const
      const target: ReplayTarget = {
        ...it.target,
        send: () => Promise.reject(new LazaretError('the queue is gone', gone)),
      }
      const run = () => runReplay(it.store, replay.id, { target, environment: it.environment, owner: 'r' })
      await expect(run()).rejects.toThrow('the store is away')
      expect(await replays.counts(replay.id)).toMatchObject({ skipped: 1 })
      expect((await deadLetters.stats()).byState).toEqual({ replaying: 1 })
      deadLetters.change = change
      if (who === 'a cancellation') await cancelReplay(it.store, replay.id, it.ann)
      else expect(await run()).toMatchObject({ state: 'finished' })
      expect((await deadLetters.stats()).byState).toEqual({ dead: 1 })
    },
  )

  it('B11: a letter that may have been sent, and that nobody can send again, keeps its event', async () => {
    const it = await createWorldAfterOutage(2)
    it.world.broken = () => false
    const replay = await it.plan({ stages: ['rest'] })
    await it.start(replay)
    let isReachable = true
    let arrivals: readonly LazaretEvent[] = []
    const target: ReplayTarget = {
      routeOf: () =>
        isReachable ? { kind: 'durable', via: 'x' } : { kind: 'none', reason: 'nobody is there' },
      async send(events, origin) {
        if (arrivals.length > 0) return it.target.send(events, origin)
        arrivals = events
        isReachable = false
        throw new Error('the connection broke while the broker answered')
      },
    }
    const run = () => runReplay(it.store, replay.id, { target, environment: it.environment, owner: 'r' })
    await expect(run()).rejects.toThrow('the connection broke')
    const next = run()
    await it.clock.advance(5_000)
    expect(await it.store.replays.get(replay.id)).toMatchObject({
      state: 'running',
      problem: { reason: 'nobody is there' },
    })
    expect(await it.store.replays.counts(replay.id)).toMatchObject({ sent: 1, skipped: 1 })
    // The event arrives, late.
    await it.target.send(arrivals, {})
    await it.clock.advance(5_000)
    expect(await next).toMatchObject({ state: 'finished', problem: undefined })
    expect((await it.store.deadLetters.stats()).byState).toEqual({ resolved: 1, dead: 1 })
  })

  it('B11: a run ends after a minute in which nobody can send the letter, and the next one sends it', async () => {
    const it = await createWorldAfterOutage(1)
    it.world.broken = () => false
    const replay = await it.plan()
    await it.start(replay)
    let isReachable = true
    let isBroken = true
    const target: ReplayTarget = {
      routeOf: () =>
        isReachable ? { kind: 'durable', via: 'x' } : { kind: 'none', reason: 'nobody is there' },
      send: (events, origin) =>
        isBroken ? Promise.reject(new Error('the broker is away')) : it.target.send(events, origin),
    }
    const run = () => runReplay(it.store, replay.id, { target, environment: it.environment, owner: 'r' })
    await expect(run()).rejects.toThrow('the broker is away')
    isReachable = false
    isBroken = false
    const next = expect(run()).rejects.toThrow(`replay ${replay.id} is not delivered: nobody is there`)
    await it.clock.advance(62_000)
    await next
    expect((await it.store.deadLetters.stats()).byState).toEqual({ replaying: 1 })
    isReachable = true
    const last = run()
    await it.clock.advance(5_000)
    expect(await last).toMatchObject({ state: 'finished' })
    expect((await it.store.deadLetters.stats()).byState).toEqual({ resolved: 1 })
  })

  it('B11: a stop that comes before the end is what the audit tells of, and nothing else', async () => {
    const it = await createWorldAfterOutage(1)
    it.world.broken = () => false
    const replay = await it.plan()
    await it.start(replay)
    const { replays } = it.store
    const counts = replays.counts.bind(replays)
    replays.counts = async id => {
      const counted = await counts(id)
      if (counted.recovered === 1) await cancelReplay(it.store, id, it.ann).catch(() => {})
      return counted
    }
    expect(await it.run(replay)).toMatchObject({ state: 'cancelled' })
    const { entries } = await it.store.audit.list({ target: replay.id })
    expect(entries.map(({ action }) => action)).toEqual(['replay.cancel', 'replay.start', 'replay.plan'])
  })
})

describe('a letter of a cancelled replay', () => {
  it('E9: that a runner took and died before writing it down is dead again, or quarantined if it is poison', async () => {
    const it = await createWorldAfterOutage(2)
    const [first] = (await it.store.deadLetters.list()).letters
    await it.store.deadLetters.send({ ...first!, cycle: { ...first!.cycle, reason: 'poison' } })
    const replay = await it.plan({ allowQuarantined: true })
    await it.start(replay)
    for (const { letterId } of await it.store.replays.items(replay.id))
      await it.store.deadLetters.change(letterId, {
        to: 'replaying',
        at: it.clock.now(),
        replayId: replay.id,
      })
    await cancelReplay(it.store, replay.id, it.ann)
    expect((await it.store.deadLetters.stats()).byState).toEqual({ dead: 1, quarantined: 1 })
    expect(await it.store.replays.counts(replay.id)).toMatchObject({ waiting: 2 })
  })

  it('E9: whose send was rejected is dead again, and can be planned again', async () => {
    const it = await createWorldAfterOutage(1)
    const replay = await it.plan()
    await it.start(replay)
    const target = { send: () => Promise.reject(new Error('broker down')) }
    const options = { target, environment: it.environment, owner: 'runner' }
    await expect(runReplay(it.store, replay.id, options)).rejects.toThrow('broker down')
    const [letter] = (await it.store.deadLetters.list()).letters
    expect(letter).toMatchObject({ state: 'replaying' })
    const decision = { by: 'ann', at: it.clock.now() }
    await expect(reopenLetter(it.store, letter!, decision)).rejects.toThrow(
      `is replaying and cannot be reopened; replay ${replay.id} is running: wait for its outcome, or cancel it first`,
    )
    await cancelReplay(it.store, replay.id, it.ann)
    expect((await it.store.deadLetters.stats()).byState).toEqual({ dead: 1 })
    expect(await it.store.replays.counts(replay.id)).toMatchObject({ waiting: 1, sent: 0 })
    expect((await it.plan()).findings).toEqual({ replay: 1 })
  })

  it('E9: that has left stays replaying until its outcome is known', async () => {
    const it = await createWorldAfterOutage(1)
    it.world.broken = () => false
    it.world.handlerMs = 10_000
    const replay = await it.plan()
    await it.start(replay)
    await it.runFor(1_000, 'runner', replay)
    await cancelReplay(it.store, replay.id, it.ann)
    expect((await it.store.deadLetters.stats()).byState).toEqual({ replaying: 1 })
    await it.clock.advance(10_000)
    await recordLateOutcomes(it.store, { ...replay, state: 'cancelled' }, it.clock)
    expect(await it.store.replays.counts(replay.id)).toMatchObject({ recovered: 1 })
  })

  it('E9: that a living runner is sending is left to it', async () => {
    const it = await createWorldAfterOutage(1)
    it.world.broken = () => false
    const replay = await it.plan()
    await it.start(replay)
    const arrives = Promise.withResolvers<void>()
    const target = {
      send: async (events: readonly LazaretEvent[]) => {
        await arrives.promise
        await it.store.broker!.publish(events)
      },
    }
    const run = runReplay(it.store, replay.id, { target, environment: it.environment, owner: 'runner' })
    await it.clock.advance(100)
    await cancelReplay(it.store, replay.id, it.ann)
    expect((await it.store.deadLetters.stats()).byState).toEqual({ replaying: 1 })
    arrives.resolve()
    expect(await run).toMatchObject({ state: 'cancelled' })
    await it.clock.advance(100)
    expect((await it.store.deadLetters.stats()).byState).toEqual({ resolved: 1 })
  })

  it('E9: whose runner crashed while it was being cancelled is dead again once somebody looks', async () => {
    const it = await createWorldAfterOutage(1)
    const replay = await it.plan()
    await it.start(replay)
    const target = { send: () => new Promise<never>(() => {}) }
    void runReplay(it.store, replay.id, { target, environment: it.environment, owner: 'runner' })
    await it.clock.advance(100)
    await cancelReplay(it.store, replay.id, it.ann)
    const look = () => recordLateOutcomes(it.store, { ...replay, state: 'cancelled' }, it.clock)
    await look()
    expect((await it.store.deadLetters.stats()).byState).toEqual({ replaying: 1 })
    await it.clock.advance(60_000)
    await look()
    expect((await it.store.deadLetters.stats()).byState).toEqual({ dead: 1 })
  })

  it('E9: one that was handled is refused in words that hold', async () => {
    const it = await createWorldAfterOutage(1)
    const [letter] = (await it.store.deadLetters.list()).letters
    const resolved = await it.store.deadLetters.change(letter!.id, { to: 'resolved', at: it.clock.now() })
    await expect(reopenLetter(it.store, resolved!, { by: 'ann', at: it.clock.now() })).rejects.toThrow(
      'is resolved and cannot be reopened; only parked or quarantined or discarded letters can',
    )
  })
})
