import { describe, expect, it } from 'vitest'
import { memoryDeadLetters } from '../../adapters/memory/index.ts'
import { fixed } from '../../core/retry/fixed.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { resilient } from '../resilient/resilient.ts'
import { createDispatcher } from './dispatcher.ts'

const HOUR_MS = 3_600_000

describe.each([
  ['back', -HOUR_MS],
  ['forward', HOUR_MS],
])('when the wall clock is set %s', (_, byMs) => {
  it('E4: events that wait for a turn are given up on no earlier', async () => {
    const clock = new FakeClock()
    const deadLetters = memoryDeadLetters()
    let writes = 0
    const dispatcher = createDispatcher({
      channel: 'orders',
      clock,
      deadLetters,
      sinks: {
        loki: {
          write: async () => {
            if (++writes === 1) throw Object.assign(new Error('reset'), { code: 'ECONNRESET' })
          },
        },
      },
      retry: { attempts: 3, backoff: fixed({ delayMs: 1_000, jitter: 'none' }) },
      breaker: { failures: 1, openMs: 5_000 },
      whenOpen: 'wait',
      retryLimit: { perSecond: 10, maxWaitMs: 30_000 },
    })
    const track = () => dispatcher.track({ type: 't', payload: 1 })
    const first = track()
    await clock.advance(100)
    const all = Promise.allSettled([first, track(), track()])
    await clock.advance(1_000)
    clock.jump(byMs)
    await clock.advance(20_000)
    const ends = await all
    expect(ends.map(({ status }) => status)).toEqual(new Array(3).fill('fulfilled'))
    expect((await deadLetters.list({ limit: 10 })).letters).toEqual([])
    await dispatcher.close()
  })

  it('E20: no duration is below 0', async () => {
    const clock = new FakeClock()
    const durations: number[] = []
    const observer = {
      callSucceeded: ({ durationMs }: { durationMs: number }) => durations.push(durationMs),
      batchWritten: ({ durationMs }: { durationMs: number }) => durations.push(durationMs),
    }
    const call = resilient(async () => clock.jump(byMs), { clock, observer })
    await call()
    const sinks = { loki: { write: async () => clock.jump(byMs) } }
    const dispatcher = createDispatcher({
      channel: 'c',
      clock,
      observer,
      sinks,
      deadLetters: memoryDeadLetters(),
    })
    await dispatcher.track({ type: 't', payload: 1 })
    await dispatcher.close()
    expect(durations).toEqual(new Array(3).fill(Math.max(0, byMs)))
  })
})
