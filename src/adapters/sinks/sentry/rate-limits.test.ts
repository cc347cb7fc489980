import { expect, it } from 'vitest'
import { FakeClock } from '../../../testing/fake-clock.ts'
import { RateLimits } from './rate-limits.ts'

it('E2: a rate limit lasts as long as Sentry asked, although the clock is set meanwhile', async () => {
  const clock = new FakeClock()
  const limits = new RateLimits(clock)
  limits.note({ statusCode: 429, headers: { 'retry-after': '30' } })
  clock.jump(-600_000)
  expect(limits.waitMs('error')).toBe(30_000)
  clock.jump(1_200_000)
  expect(limits.waitMs('error')).toBe(30_000)
  await clock.advance(30_000)
  expect(limits.waitMs('error')).toBeUndefined()
})
