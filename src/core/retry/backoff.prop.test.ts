import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type Backoff, MAX_DELAY_MS } from './backoff.ts'
import { decorrelated } from './decorrelated.ts'
import { exponential } from './exponential.ts'
import { fixed } from './fixed.ts'
import type { Jitter } from './jitter.ts'
import { linear } from './linear.ts'
import { tiers } from './tiers.ts'

const delay = fc.double({ min: 0, max: MAX_DELAY_MS, noNaN: true })
const bounds = fc.tuple(delay, delay).map(([a, b]) => ({ baseMs: Math.min(a, b), maxMs: Math.max(a, b) }))
const jitter: fc.Arbitrary<Jitter> = fc.oneof(
  fc.constantFrom<Jitter>('full', 'equal', 'none'),
  fc.record({ ratio: fc.double({ min: 0, max: 1, noNaN: true }) }),
)
const simple: fc.Arbitrary<Backoff> = fc.oneof(
  fc
    .tuple(bounds, jitter, fc.double({ min: 1, max: 1e300, noNaN: true }))
    .map(([range, jitter, multiplier]) => exponential({ ...range, jitter, multiplier })),
  fc.tuple(bounds, jitter, delay).map(([range, jitter, stepMs]) => linear({ ...range, jitter, stepMs })),
  fc.tuple(delay, jitter).map(([delayMs, jitter]) => fixed({ delayMs, jitter })),
  bounds.map(decorrelated),
)
const tier = fc.record({ retries: fc.integer({ min: 1, max: 1_000 }), backoff: simple })
const anyBackoff = fc.oneof(simple, fc.array(tier, { minLength: 1, maxLength: 5 }).map(tiers))
const retry = fc.oneof(fc.integer({ min: 1, max: 50 }), fc.integer({ min: 1, max: 1e9 }))
const drawn = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })

const zero = () => 0

/** mulberry32: small, good enough, and the same sequence on every machine. */
function seeded(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32
  }
}

function mean(backoff: Backoff, retry: number): number {
  const random = seeded(42)
  const draws = 20_000
  let sum = 0
  for (let i = 0; i < draws; i++) sum += backoff.delayMs(retry, 0, random)
  return sum / draws
}

describe('backoff bounds', () => {
  it('E1 K3: every delay is within 0 and the cap, for every strategy, jitter and retry number', () => {
    fc.assert(
      fc.property(anyBackoff, retry, delay, drawn, (backoff, retry, previousDelayMs, random) => {
        const delayMs = backoff.delayMs(retry, previousDelayMs, () => random)
        expect(delayMs).toBeGreaterThanOrEqual(0)
        expect(delayMs).toBeLessThanOrEqual(backoff.maxMs)
      }),
      { numRuns: 2_000 },
    )
  })

  it('E1: a delay is a whole number of milliseconds when the cap is one', () => {
    const whole = fc.tuple(fc.integer({ min: 0, max: 1_000 }), fc.integer({ min: 1_000, max: 1e6 }), jitter)
    fc.assert(
      fc.property(whole, retry, drawn, ([baseMs, maxMs, jitter], retry, random) => {
        const delayMs = exponential({ baseMs, maxMs, jitter, multiplier: 1.7 }).delayMs(
          retry,
          0,
          () => random,
        )
        expect(Number.isInteger(delayMs)).toBe(true)
      }),
    )
  })

  it('K3: without jitter no later retry waits less than an earlier one', () => {
    const growing = fc.oneof(
      bounds.map(range => exponential({ ...range, jitter: 'none' })),
      bounds.map(range => linear({ ...range, jitter: 'none' })),
    )
    fc.assert(
      fc.property(growing, retry, retry, (backoff, a, b) => {
        const [early, late] = [Math.min(a, b), Math.max(a, b)]
        expect(backoff.delayMs(early, 0, zero)).toBeLessThanOrEqual(backoff.delayMs(late, 0, zero))
      }),
    )
  })

  it('S2: full jitter waits half the cap on average once the cap is reached', () => {
    const average = mean(exponential({ baseMs: 1_000, maxMs: 300_000, jitter: 'full' }), 40)
    expect(Math.abs(average / 150_000 - 1)).toBeLessThan(0.02)
  })

  it('K3: equal jitter waits three quarters, a ratio the whole delay on average', () => {
    expect(Math.abs(mean(exponential({ baseMs: 4_000, jitter: 'equal' }), 1) / 3_000 - 1)).toBeLessThan(0.02)
    const ratio = exponential({ baseMs: 4_000, maxMs: 60_000, jitter: { ratio: 0.5 } })
    expect(Math.abs(mean(ratio, 1) / 4_000 - 1)).toBeLessThan(0.02)
  })

  it('F1: at the cap a ratio still spreads: no share of the retries comes back in step', () => {
    const backoff = exponential({ baseMs: 1_000, maxMs: 60_000, jitter: { ratio: 0.1 } })
    const random = seeded(7)
    const delays = Array.from({ length: 1_000 }, () => backoff.delayMs(30, 0, random))
    const atTheCap = delays.filter(delayMs => delayMs === 60_000).length
    expect(atTheCap).toBeLessThan(10)
    expect(Math.min(...delays)).toBeGreaterThanOrEqual(54_000)
  })
})
