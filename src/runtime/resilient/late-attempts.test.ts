import { describe, expect, it } from 'vitest'
import { fixed } from '../../core/retry/fixed.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { Recorder } from '../../testing/recorder.ts'
import { sleep } from '../sleep.ts'
import { resilient } from './resilient.ts'
import type { ResilientOptions } from './resilient-options.ts'

/** A function that ignores every signal, and what it was seen to do. */
function setUp(take: (run: number, clock: FakeClock) => Promise<unknown>, options: ResilientOptions = {}) {
  const clock = new FakeClock()
  const recorder = new Recorder()
  const seen = { runs: 0, atOnce: 0, most: 0 }
  const work = async () => {
    const run = ++seen.runs
    seen.most = Math.max(seen.most, ++seen.atOnce)
    try {
      await take(run, clock)
      return run
    } finally {
      seen.atOnce--
    }
  }
  const call = resilient(work, {
    name: 'work',
    timeoutMs: 200,
    retry: { attempts: 4, backoff: fixed({ delayMs: 10, jitter: 'none' }) },
    clock,
    observer: recorder.observer,
    ...options,
  })
  return { clock, recorder, seen, call }
}

describe('an attempt of resilient() that outlives its timeout', () => {
  it('B15: and succeeds: the call has its result, and nothing is retried', async () => {
    const { clock, call, seen, recorder } = setUp((_, clock) => sleep(clock, 300))
    const result = call()
    await clock.advance(10_000)
    expect(await result).toBe(1)
    expect(seen).toMatchObject({ runs: 1, most: 1 })
    expect(recorder.count('timedOut')).toBe(1)
    expect(recorder.of('callSucceeded')).toEqual([{ name: 'work', attempts: 1, durationMs: 300 }])
    expect(recorder.count('gaveUp')).toBe(0)
  })

  it('B15: and succeeds during the backoff: the call does not wait for the rest of it', async () => {
    const backoff = fixed({ delayMs: 60_000, jitter: 'none' })
    const { clock, call, seen } = setUp((_, clock) => sleep(clock, 300), { retry: { attempts: 4, backoff } })
    const result = call()
    await clock.advance(400)
    expect(await result).toBe(1)
    await clock.advance(120_000)
    expect(seen.runs).toBe(1)
  })

  it('B15: and fails: the retry starts when it has ended', async () => {
    const { clock, call, seen } = setUp(async (run, clock) => {
      if (run > 2) return
      await sleep(clock, 300)
      throw new Error('too late')
    })
    const result = call()
    await clock.advance(10_000)
    expect(await result).toBe(3)
    expect(seen).toMatchObject({ runs: 3, most: 1 })
  })

  it('B15: and never ends: the retry starts after lateMs', async () => {
    const { clock, call, seen } = setUp(run => (run === 1 ? new Promise(() => {}) : Promise.resolve()), {
      lateMs: 500,
    })
    const result = call()
    await clock.advance(690)
    expect(seen.runs).toBe(1)
    await clock.advance(100)
    expect(await result).toBe(2)
  })

  it('B15: and never ends: a clock that is set back does not delay the retry', async () => {
    const backoff = fixed({ delayMs: 300, jitter: 'none' })
    const { clock, call } = setUp(run => (run === 1 ? new Promise(() => {}) : Promise.resolve()), {
      lateMs: 500,
      retry: { attempts: 2, backoff },
    })
    const result = call()
    await clock.advance(400)
    clock.jump(-3_600_000)
    await clock.advance(400)
    expect(await result).toBe(2)
  })

  it('B15: and its caller gives up: the call ends at once', async () => {
    const { clock, call, seen } = setUp(() => new Promise(() => {}))
    const controller = new AbortController()
    const result = call.run({ signal: controller.signal }).catch((error: unknown) => error)
    await clock.advance(400)
    controller.abort(new Error('enough'))
    expect(await result).toEqual(new Error('enough'))
    await clock.advance(10_000)
    expect(seen.runs).toBe(1)
  })
})
