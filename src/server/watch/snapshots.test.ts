import { describe, expect, it } from 'vitest'
import {
  discard,
  MINUTE_MS,
  saveManyLetters,
  watchingWorld,
  watchOf,
} from '../../../test/support/watching-world.ts'
import type { QueueDepth } from '../../ports/broker.ts'
import type { Collector } from '../../ports/collector.ts'

describe('snapshots', () => {
  it('K7: have depth, oldest age, those over the limit, average retries and the errors of a channel', async () => {
    const world = watchingWorld()
    const { clock, store, make } = world
    const at = clock.now()
    const old = make.letter({ channel: 'orders' })
    await store.deadLetters.send({ ...old, cycle: { ...old.cycle, lastFailedAt: at - 31 * MINUTE_MS } })
    const young = make.letter({ channel: 'orders', error: new TypeError('no wallet') })
    await store.deadLetters.send({ ...young, cycle: { ...young.cycle, attemptCount: 5 } })
    const gone = make.letter({ channel: 'orders' })
    await store.deadLetters.send(gone)
    await discard(store, [gone])
    await world.ask('/healthz')
    await clock.advance(10)
    const attempts = old.cycle.attemptCount
    expect(await store.snapshots.list()).toEqual([
      {
        v: 1,
        at,
        channel: 'orders',
        depth: 2,
        oldestAt: at - 31 * MINUTE_MS,
        overAge: 1,
        averageRetries: (attempts - 1 + 4) / 2,
        sampled: 2,
        errors: expect.arrayContaining([
          { fingerprint: young.cycle.failure!.fingerprint.id, name: 'TypeError', count: 1 },
        ]),
      },
    ])
    await world.server.close()
  })

  it('K7: are taken every so often, in one server of those that share a store, and kept for so long', async () => {
    const watch = { everyMs: MINUTE_MS, keepMs: 2 * 3_600_000 }
    const world = watchingWorld({ watch })
    const { clock, store } = world
    const other = watchingWorld({ stores: store, clock, watch })
    await saveManyLetters(world, 1)
    await world.ask('/healthz')
    await other.ask('/healthz')
    await world.minute(10)
    const times = async () => (await store.snapshots.list({ perChannel: 1_000 })).map(({ at }) => at)
    const start = (await times()).at(-1)!
    expect(await times()).toEqual(Array.from({ length: 11 }, (_, index) => start + (10 - index) * MINUTE_MS))
    await world.server.close()
    await world.minute(10)
    // Nobody has taken one twice, and nobody needed more than a minute to take over.
    expect((await times()).length).toBe(21)
    await clock.advance(4 * 3_600_000)
    expect(Math.min(...(await times()))).toBeGreaterThan(clock.now() - 4 * 3_600_000)
    await other.server.close()
    expect(clock.pending).toBe(0)
  })

  it('K7: a restarted server waits until the next one is due', async () => {
    const world = watchingWorld()
    await saveManyLetters(world, 1)
    await world.ask('/healthz')
    await world.clock.advance(20_000)
    await world.server.close()
    const next = watchingWorld({ stores: world.store, clock: world.clock })
    await next.ask('/healthz')
    const count = async () => (await world.store.snapshots.list()).length
    await world.clock.advance(39_000)
    expect(await count()).toBe(1)
    await world.clock.advance(1_000)
    expect(await count()).toBe(2)
    await next.server.close()
  })

  it('K7: look at a thousand of very many, and at none again while nothing has changed', async () => {
    const world = watchingWorld({ watch: { expiringWithinMs: 'off' } })
    const { store } = world
    await saveManyLetters(world, 1_500)
    const { list } = store.deadLetters
    let looks = 0
    store.deadLetters.list = query => {
      looks++
      return list.call(store.deadLetters, query)
    }
    await world.ask('/healthz')
    await world.minute(5)
    expect(looks).toBe(5)
    const [newest] = await store.snapshots.list()
    expect([newest!.depth, newest!.sampled]).toEqual([1_500, 1_000])
    await saveManyLetters(world, 1)
    await world.minute()
    expect(looks).toBe(10)
    await world.server.close()
  })

  it('K7: count what lies in dead-letter queues, under the name of the queue where nobody knows its channel', async () => {
    let isAway = false
    const collector: Collector = {
      name: 'rabbitmq',
      start() {},
      stop: async () => {},
      send: async () => {},
      async depths(): Promise<readonly QueueDepth[]> {
        if (isAway) throw new Error('away')
        return [
          { queue: 'billing_error', depth: 4 },
          { queue: 'empty_error', depth: 0 },
        ]
      },
      close: async () => {},
    }
    const world = watchingWorld({ collectors: [{ collector }] })
    await world.ask('/healthz')
    await world.clock.advance(10)
    expect(await watchOf(world, 'billing_error')).toMatchObject({ depth: 4, sampled: 0, errors: [] })
    expect(await watchOf(world, 'empty_error')).toBeUndefined()
    // That nobody can count them does not mean that they are gone.
    isAway = true
    await world.minute(5)
    expect(await watchOf(world, 'billing_error')).toMatchObject({ depth: 4, trend: 'stable' })
    await world.server.close()
  })

  it('K7: a store that is down skips its turn, and that is told once', async () => {
    const world = watchingWorld()
    const { store, errors } = world
    await saveManyLetters(world, 1)
    await world.ask('/healthz')
    await world.minute()
    const { stats } = store.deadLetters
    store.deadLetters.stats = async () => {
      throw new Error('connection to postgres://user:secret@db refused')
    }
    await world.minute(5)
    expect(errors.map(error => (error as Error).message)).toEqual([
      'watch: no snapshot of the channels in store main: connection to postgres://***@db refused; the server retries when the next one is due',
    ])
    store.deadLetters.stats = stats
    const before = (await store.snapshots.list({ perChannel: 100 })).length
    await world.minute()
    expect((await store.snapshots.list({ perChannel: 100 })).length).toBe(before + 1)
    await world.server.close()
  })

  it('K7: a store that hangs costs a round and no more', async () => {
    const world = watchingWorld()
    const { store } = world
    await saveManyLetters(world, 1)
    const { stats } = store.deadLetters
    store.deadLetters.stats = () => new Promise(() => {})
    await world.ask('/healthz')
    await world.minute(2)
    expect(await store.snapshots.list()).toEqual([])
    store.deadLetters.stats = stats
    await world.minute(3)
    expect((await store.snapshots.list()).length).toBeGreaterThan(0)
    await world.server.close()
  })

  it('K7: a server that only shows takes none, and shows those of others', async () => {
    const world = watchingWorld()
    const { clock, store } = world
    await saveManyLetters(world, 101)
    const silent = watchingWorld({ stores: store, clock, readOnly: true })
    await silent.ask('/healthz')
    await clock.advance(5 * MINUTE_MS)
    expect(await store.snapshots.list()).toEqual([])
    await world.ask('/healthz')
    await clock.advance(5 * MINUTE_MS)
    expect(await watchOf(silent)).toMatchObject({ depth: 101, trend: 'stable' })
    expect((await silent.ask('/api/v1/overview')).body.alerts.length).toBeGreaterThan(0)
    expect(silent.notices).toEqual([])
    await world.server.close()
  })
})
