import { describe, expect, it } from 'vitest'
import { memoryDeadLetters } from '../../../adapters/memory/index.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { fixed } from '../../../core/retry/fixed.ts'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { Recorder } from '../../../testing/recorder.ts'
import { seededRandom } from '../../../testing/seeded-random.ts'
import { sleep } from '../../sleep.ts'
import { createDispatcher } from '../dispatcher.ts'

/** A sink that ignores its signal, and how often each event was on a write, at once and in all. */
function setUp(take: (write: number, clock: FakeClock) => Promise<unknown>, options = {}) {
  const clock = new FakeClock()
  const recorder = new Recorder()
  const deadLetters = memoryDeadLetters()
  const seen = { writes: 0, most: 0 }
  const onWrite = new Map<string, number>()
  const sink = {
    write: async (events: readonly LazaretEvent[]) => {
      const write = ++seen.writes
      for (const { id } of events) {
        onWrite.set(id, (onWrite.get(id) ?? 0) + 1)
        seen.most = Math.max(seen.most, onWrite.get(id)!)
      }
      try {
        await take(write, clock)
      } finally {
        for (const { id } of events) onWrite.set(id, onWrite.get(id)! - 1)
      }
    },
  }
  const events = createDispatcher({
    sinks: { sink },
    deadLetters,
    clock,
    random: seededRandom(5),
    observer: recorder.observer,
    timeoutMs: 200,
    retry: { attempts: 4, backoff: fixed({ delayMs: 10, jitter: 'none' }) },
    ...options,
  })
  const letters = async () => (await deadLetters.list()).letters
  return { clock, recorder, seen, events, letters, deadLetters }
}

describe('a write that outlives its timeout', () => {
  it('B15: and succeeds: its events are delivered, and not written again', async () => {
    const { clock, events, seen, recorder, letters } = setUp((_, clock) => sleep(clock, 300))
    const result = events.track({ type: 'x' })
    await clock.advance(10_000)
    expect(await result).toMatchObject({ sinks: { sink: { outcome: 'delivered' } } })
    expect(seen).toEqual({ writes: 1, most: 1 })
    expect(recorder.count('timedOut')).toBe(1)
    expect(await letters()).toEqual([])
    await events.close()
  })

  it('E5: and fails after the clock was set back: the retry starts when it has ended', async () => {
    const { clock, events, seen } = setUp((write, clock) =>
      write === 1 ? sleep(clock, 1_000).then(() => Promise.reject(new Error('down'))) : Promise.resolve(),
    )
    const result = events.track({ type: 'x' })
    await clock.advance(500)
    clock.jump(-3_600_000)
    // The lane looks at its clock while the write still runs.
    void events.track({ type: 'y' })
    await clock.advance(5_000)
    expect(await result).toMatchObject({ sinks: { sink: { outcome: 'delivered' } } })
    expect(seen).toMatchObject({ writes: 3, most: 1 })
    await events.close()
  })

  it('B15: and fails: the retry starts when it has ended', async () => {
    const { clock, events, seen } = setUp(async (write, clock) => {
      if (write > 2) return
      await sleep(clock, 300)
      throw new Error('too late')
    })
    const result = events.track({ type: 'x' })
    await clock.advance(10_000)
    expect(await result).toMatchObject({ sinks: { sink: { outcome: 'delivered' } } })
    expect(seen).toEqual({ writes: 3, most: 1 })
    await events.close()
  })

  it('B15: and never ends: the lane goes on with other events, and the retry starts after lateMs', async () => {
    const { clock, events, seen, recorder } = setUp(
      write => (write === 1 ? new Promise(() => {}) : Promise.resolve()),
      { lateMs: 500 },
    )
    const result = events.track({ type: 'x' })
    await clock.advance(300)
    const other = events.track({ type: 'y' })
    await clock.advance(300)
    expect(await other).toMatchObject({ sinks: { sink: { outcome: 'delivered' } } })
    expect(seen.writes).toBe(2)
    expect(events.health().sinks['sink']).toMatchObject({ retrying: 1 })
    await clock.advance(300)
    expect(await result).toMatchObject({ sinks: { sink: { outcome: 'delivered' } } })
    expect(recorder.count('timedOut')).toBe(1)
    await events.close()
  })

  it('B15: and the dispatcher closes: that does not wait for it, and its event is a letter', async () => {
    const { clock, events, letters, deadLetters } = setUp(() => new Promise(() => {}))
    void events.track({ type: 'x' }).catch(() => {})
    await clock.advance(300)
    const saved = new Promise(resolve => {
      const close = deadLetters.close.bind(deadLetters)
      deadLetters.close = async () => {
        resolve(await letters())
        await close()
      }
    })
    const closed = events.close({ graceMs: 100 })
    await clock.advance(200)
    await closed
    expect(await saved).toMatchObject([{ cycle: { reason: 'shutdown' } }])
    expect(clock.pending).toBeLessThanOrEqual(1)
  })
})
