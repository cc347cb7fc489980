import { describe, expect, it } from 'vitest'
import { FakeClock } from '../testing/fake-clock.ts'
import { pacedClock } from './paced-clock.ts'

describe('a paced clock', () => {
  it('runs the given number of times as fast', async () => {
    const real = new FakeClock()
    const start = real.now()
    const clock = pacedClock(real, 10)
    const ran: number[] = []
    clock.schedule(30_000, () => ran.push(clock.now() - start))
    await real.advance(2_999)
    expect(ran).toEqual([])
    await real.advance(1)
    expect(ran).toEqual([30_000])
  })
})
