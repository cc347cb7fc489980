import { describe, expect, it } from 'vitest'
import type { Backoff } from './backoff.ts'
import { decorrelated } from './decorrelated.ts'
import { exponential } from './exponential.ts'
import { fixed } from './fixed.ts'
import { linear } from './linear.ts'
import { tiers } from './tiers.ts'

const middle = () => 0.5

function delays(backoff: Backoff, count: number, random = middle): number[] {
  return Array.from({ length: count }, (_, index) => backoff.delayMs(index + 1, 0, random))
}

describe('backoff strategies', () => {
  it('E1: exponential starts at 100 ms, doubles, and is capped at 5 s with ±10 % by default', () => {
    expect(delays(exponential(), 6)).toEqual([100, 200, 400, 800, 1_600, 3_200])
    expect(exponential().delayMs(1, 0, () => 0)).toBe(90)
    expect(exponential().delayMs(1, 0, () => 0.999_999)).toBe(110)
    expect(exponential().delayMs(50, 0, () => 0.999_999)).toBe(5_000)
  })

  it('K3: exponential takes its base, multiplier and cap', () => {
    const backoff = exponential({ baseMs: 1_000, multiplier: 3, maxMs: 10_000, jitter: 'none' })
    expect(delays(backoff, 4)).toEqual([1_000, 3_000, 9_000, 10_000])
    expect(backoff).toMatchObject({ kind: 'exponential', maxMs: 10_000 })
  })

  it('K3: linear adds a step, which is the base unless it is given', () => {
    expect(delays(linear({ baseMs: 200, jitter: 'none' }), 3)).toEqual([200, 400, 600])
    const backoff = linear({ baseMs: 200, stepMs: 50, maxMs: 280, jitter: 'none' })
    expect(delays(backoff, 4)).toEqual([200, 250, 280, 280])
  })

  it('K3: fixed is the same every time, and exactly that unless jitter is asked for', () => {
    expect(delays(fixed({ delayMs: 500 }), 3)).toEqual([500, 500, 500])
    expect(delays(fixed(), 1)).toEqual([1_000])
    const spread = fixed({ delayMs: 500, jitter: { ratio: 0.2 } })
    expect(spread.delayMs(1, 0, () => 0)).toBe(400)
    expect(spread.delayMs(1, 0, () => 0.999_999)).toBe(600)
    expect(spread.maxMs).toBe(600)
  })

  it('K3: decorrelated draws between the base and three times the previous wait', () => {
    const backoff = decorrelated({ baseMs: 100, maxMs: 1_000 })
    expect(backoff.delayMs(1, 0, () => 0)).toBe(100)
    expect(backoff.delayMs(1, 0, () => 0.999_999)).toBe(300)
    expect(backoff.delayMs(2, 300, middle)).toBe(500)
    expect(backoff.delayMs(3, 900, () => 0.999_999)).toBe(1_000)
  })

  it('K3: full jitter reaches from 0, equal jitter from half, none draws nothing', () => {
    const at = (jitter: 'full' | 'equal' | 'none', random: number) =>
      exponential({ baseMs: 1_000, jitter }).delayMs(1, 0, () => random)
    expect([at('full', 0), at('full', 0.5)]).toEqual([0, 500])
    expect([at('equal', 0), at('equal', 0.5)]).toEqual([500, 750])
    expect([at('none', 0), at('none', 0.9)]).toEqual([1_000, 1_000])
  })

  it('K3: tiers make a few quick tries, then slow ones, each tier counting from its own first', () => {
    const backoff = tiers([
      { retries: 2, backoff: exponential({ baseMs: 100, jitter: 'none' }) },
      { retries: 2, backoff: linear({ baseMs: 1_000, jitter: 'none' }) },
      { retries: 3, backoff: linear({ baseMs: 60_000, maxMs: 600_000, jitter: 'none' }) },
    ])
    expect(delays(backoff, 8)).toEqual([100, 200, 1_000, 2_000, 60_000, 120_000, 180_000, 240_000])
    expect(backoff).toMatchObject({ kind: 'tiers', retries: 7, maxMs: 600_000 })
  })

  it('K3: tiers hand the previous wait on to a decorrelated tier', () => {
    const backoff = tiers([
      { retries: 1, backoff: fixed({ delayMs: 10 }) },
      { retries: 1, backoff: decorrelated({ baseMs: 100, maxMs: 9_000 }) },
    ])
    expect(backoff.delayMs(2, 1_000, () => 0.999_999)).toBe(3_000)
  })

  it('E1: asking a backoff never advances it', () => {
    const backoff = exponential()
    expect([1, 2, 1, 1].map(retry => backoff.delayMs(retry, 0, middle))).toEqual([100, 200, 100, 100])
    expect(Object.isFrozen(backoff)).toBe(true)
  })
})
