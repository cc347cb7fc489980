import { describe, expect, it } from 'vitest'
import { createWorldAfterOutage } from '../../test/support/outage.ts'
import type { Store } from '../ports/store.ts'
import { runReplay } from './runner.ts'

/** Longer than a runner's lease: a new one may take over by then. */
const LEASE_IS_OVER_MS = 60_000
const BATCH = 50

/** A replay of so many letters whose handler takes a while, so that sent events are on their way when it stops. */
async function underWay(letters: number, handlerMs: number) {
  const it = await createWorldAfterOutage(letters, { concurrency: 200, timeoutMs: 600_000 })
  it.world.broken = () => false
  it.world.handlerMs = handlerMs
  const replay = await it.plan({ perSecond: 20, stages: ['rest'] })
  await it.start(replay)
  /** An event that was sent a second time may still be handled. */
  const closeConsumer = async () => {
    const closed = it.consumer.close()
    await it.clock.advance(2 * handlerMs)
    await closed
  }
  return { ...it, replay, closeConsumer }
}

/** The same store for one process: from its crash on, nothing it asks for is answered. */
function processOf(store: Store) {
  let isCrashed = false
  const never = new Promise<never>(() => {})
  const through = <T extends object>(part: T): T =>
    new Proxy(part, {
      get(target, name) {
        const value = Reflect.get(target, name, target)
        if (typeof value !== 'function') return value
        return async (...args: unknown[]) => {
          if (isCrashed) return never
          const answer = await value.apply(target, args)
          return isCrashed ? never : answer
        }
      },
    })
  const { replays, deadLetters } = store
  return {
    store: { ...store, replays: through(replays), deadLetters: through(deadLetters) },
    crash: () => {
      isCrashed = true
    },
  }
}

describe('a runner that follows another', () => {
  it('B11: sends nothing again after a clean stop, whenever that was', async () => {
    for (let stopAfterMs = 0; stopAfterMs <= 600; stopAfterMs += 7) {
      const it = await underWay(10, 20_000)
      await it.runFor(stopAfterMs, 'first', it.replay)
      expect(await it.run(it.replay), `stopped after ${stopAfterMs} ms`).toMatchObject({ state: 'finished' })
      expect(it.sends.map(({ id }) => id).toSorted(), `stopped after ${stopAfterMs} ms`).toEqual(
        it.events.map(({ id }) => id).toSorted(),
      )
      expect(it.handled).toHaveLength(10)
      await it.closeConsumer()
    }
  })

  it('B11: sends nothing again when the outcomes are still unknown, however often it stops', async () => {
    const it = await underWay(10, 20_000)
    for (let stop = 0; stop < 5; stop++) await it.runFor(300, `runner ${stop}`, it.replay)
    await it.run(it.replay)
    expect(it.sends).toHaveLength(10)
    expect(it.handled).toHaveLength(10)
  })

  it('B11: repeats at most one batch after a crash, and leaves nothing unsent', async () => {
    for (const crashAfterMs of [0, 40, 1_000, 2_490, 2_550, 4_000, 5_960]) {
      const it = await underWay(120, 120_000)
      const first = processOf(it.store)
      const options = { target: it.targetOf('first'), environment: it.environment, owner: 'first' }
      void runReplay(first.store, it.replay.id, options)
      await it.clock.advance(crashAfterMs)
      first.crash()
      await it.clock.advance(LEASE_IS_OVER_MS)
      expect(await it.run(it.replay, 300_000), `crashed after ${crashAfterMs} ms`).toMatchObject({
        state: 'finished',
      })
      expect(new Set(it.sends.map(({ id }) => id)).size).toBe(120)
      expect(it.sends.length, `crashed after ${crashAfterMs} ms`).toBeLessThanOrEqual(120 + BATCH)
      await it.closeConsumer()
    }
  })
})
