import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { resolveBy } from '../options/resolve.ts'
import { decideRetry, type FailedAttempt } from './decide.ts'
import { exponential } from './exponential.ts'
import { fixed } from './fixed.ts'
import { type RetryOptions, retryRule } from './policy.ts'
import { noRetry, type RetryPreset } from './presets.ts'

const resolveRetry = (input: RetryOptions | undefined, preset: RetryPreset) =>
  resolveBy('retry', retryRule(preset), input)

const middle = () => 0.5
const transient = { retryable: true, category: 'transient', retryAfterMs: undefined } as const

function failedAt(attempt: number, changes: Partial<FailedAttempt['failure']> = {}): FailedAttempt {
  return { failure: { ...transient, ...changes }, attempt, elapsedMs: 0, previousDelayMs: 0 }
}

describe('retry decision', () => {
  const policy = resolveRetry({ attempts: 4 }, 'producer')

  it('E1: retries with the delay of the policy until the attempts are used up', () => {
    const delays = [1, 2, 3].map(attempt => decideRetry(policy, failedAt(attempt), middle))
    expect(delays).toEqual([
      { action: 'retry', delayMs: 100, delayFrom: 'policy' },
      { action: 'retry', delayMs: 200, delayFrom: 'policy' },
      { action: 'retry', delayMs: 400, delayFrom: 'policy' },
    ])
    expect(decideRetry(policy, failedAt(4), middle)).toEqual({
      action: 'give-up',
      reason: 'attempts_exhausted',
    })
  })

  it('E2: a permanent failure is never retried, not even with a Retry-After', () => {
    const permanent = failedAt(1, { retryable: false, retryAfterMs: 10 })
    expect(decideRetry(policy, permanent, middle)).toEqual({ action: 'give-up', reason: 'permanent' })
  })

  it('K3: without retries the first failure is the last', () => {
    expect(decideRetry(noRetry, failedAt(1), middle)).toEqual({
      action: 'give-up',
      reason: 'attempts_exhausted',
    })
  })

  it('B1: Retry-After wins over the delay of the policy, be it longer or shorter', () => {
    for (const retryAfterMs of [0, 5, 30_000]) {
      expect(decideRetry(policy, failedAt(1, { retryAfterMs }), middle)).toEqual({
        action: 'retry',
        delayMs: retryAfterMs,
        delayFrom: 'retry-after',
      })
    }
  })

  it('B1: Retry-After is capped', () => {
    const capped = resolveRetry({ retryAfterMaxMs: 7_000 }, 'producer')
    for (const retryAfterMs of [7_001, Number.POSITIVE_INFINITY]) {
      expect(decideRetry(capped, failedAt(1, { retryAfterMs }), middle)).toMatchObject({ delayMs: 7_000 })
    }
  })

  it('B1: an invalid Retry-After leaves the decision to the policy', () => {
    for (const retryAfterMs of [Number.NaN, -1]) {
      expect(decideRetry(policy, failedAt(1, { retryAfterMs }), middle)).toMatchObject({
        delayFrom: 'policy',
      })
    }
  })

  it('E1: a wait that would end after maxElapsedMs is not begun', () => {
    const hurried = resolveRetry({ maxElapsedMs: 1_000, backoff: fixed({ delayMs: 400 }) }, 'producer')
    const at = (elapsedMs: number, retryAfterMs?: number) =>
      decideRetry(hurried, { ...failedAt(1, { retryAfterMs }), elapsedMs }, middle)
    expect(at(600)).toMatchObject({ action: 'retry', delayMs: 400 })
    expect(at(601)).toEqual({ action: 'give-up', reason: 'elapsed' })
    expect(at(0, 1_001)).toEqual({ action: 'give-up', reason: 'elapsed' })
  })

  it('K3: the category of the failure picks attempts and backoff', () => {
    const byCategory = {
      schema: { attempts: 1 },
      integration: { attempts: 20, backoff: fixed({ delayMs: 9_000 }) },
    }
    const picky = resolveRetry({ attempts: 4, byCategory }, 'producer')
    expect(decideRetry(picky, failedAt(1, { category: 'schema' }), middle)).toMatchObject({
      action: 'give-up',
    })
    expect(decideRetry(picky, failedAt(10, { category: 'integration' }), middle)).toMatchObject({
      delayMs: 9_000,
    })
    expect(decideRetry(picky, failedAt(4), middle)).toMatchObject({ action: 'give-up' })
  })

  it('K3: a backoff of the user is held to its own cap', () => {
    for (const [said, held] of [
      [Number.NaN, 50],
      [1e9, 50],
      [-3, 0],
      [20, 20],
    ]) {
      const backoff = { kind: 'mine', maxMs: 50, delayMs: () => said! }
      expect(decideRetry(resolveRetry({ backoff }, 'producer'), failedAt(1), middle)).toMatchObject({
        delayMs: held,
      })
    }
  })

  it('E1 B1: every decided wait is within the cap that applies, for any failure', () => {
    const bounded = resolveRetry(
      { attempts: 1e9, backoff: exponential({ maxMs: 3_000, jitter: 'full' }), retryAfterMaxMs: 8_000 },
      'producer',
    )
    const retryAfterMs = fc.option(fc.double(), { nil: undefined })
    const drawn = fc.double({ min: 0, max: 1, maxExcluded: true, noNaN: true })
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1e9 - 1 }),
        retryAfterMs,
        drawn,
        (attempt, retryAfterMs, random) => {
          const decision = decideRetry(bounded, failedAt(attempt, { retryAfterMs }), () => random)
          if (decision.action === 'give-up') throw new Error(`gave up: ${decision.reason}`)
          expect(decision.delayMs).toBeGreaterThanOrEqual(0)
          expect(decision.delayMs).toBeLessThanOrEqual(decision.delayFrom === 'policy' ? 3_000 : 8_000)
        },
      ),
    )
  })
})
