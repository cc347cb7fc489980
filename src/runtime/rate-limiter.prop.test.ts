import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { FakeClock } from '../testing/fake-clock.ts'
import { createRateLimiter } from './limiters.ts'

const HOUR_MS = 3_600_000

describe('a live rate limit', () => {
  it('E14: is as idle after the clock was set back as it was before', async () => {
    for (const stepMs of [0, -HOUR_MS, HOUR_MS]) {
      const clock = new FakeClock()
      const limiter = createRateLimiter({ perSecond: 1 }, { clock })
      const admits = () => limiter.take(clock.now()) === clock.now()
      expect(admits()).toBe(true)
      await clock.advance(500)
      clock.jump(stepMs)
      expect(admits(), 'less than a second has passed, whatever the clock shows').toBe(stepMs > 0)
      await clock.advance(500)
      expect(admits()).toBe(stepMs <= 0)
    }
  })

  it('E14: however often the clock is set back, admits what the rate allows in the time that has passed', async () => {
    const move = fc.record({
      afterMs: fc.integer({ min: 0, max: 1_500 }),
      stepMs: fc.constantFrom(0, 0, 0, -2_000, -HOUR_MS),
      times: fc.integer({ min: 1, max: 6 }),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 10 }),
        fc.integer({ min: 1, max: 4 }),
        fc.array(move, { maxLength: 25 }),
        async (perSecond, burst, moves) => {
          const clock = new FakeClock()
          const limiter = createRateLimiter({ perSecond, burst }, { clock })
          let tokens = burst
          for (const { afterMs, stepMs, times } of moves) {
            await clock.advance(afterMs)
            clock.jump(stepMs)
            tokens = Math.min(burst, tokens + (afterMs * perSecond) / 1_000)
            for (let time = 0; time < times; time++) {
              const isAdmitted = (limiter.take(clock.now()) as number) <= clock.now()
              expect(isAdmitted).toBe(tokens > 1 - 1e-6)
              if (isAdmitted) tokens--
            }
          }
        },
      ),
      { numRuns: 100 },
    )
  })
})
