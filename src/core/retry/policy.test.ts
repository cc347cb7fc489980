import { describe, expect, it } from 'vitest'
import { OptionsError } from '../options/faults.ts'
import { group, resolveBy } from '../options/resolve.ts'
import { exponential } from './exponential.ts'
import { fixed } from './fixed.ts'
import { type RetryOptions, retryRule } from './policy.ts'
import { noRetry, RETRY_PRESETS, type RetryPreset } from './presets.ts'
import { tiers } from './tiers.ts'

const resolveRetry = (input: RetryOptions | undefined, preset: RetryPreset) =>
  resolveBy('retry', retryRule(preset), input)

const middle = () => 0.5
const lowest = () => 0
const highest = () => 0.999_999_999

describe('retry policy', () => {
  it('E1: a producer makes 3 retries from 100 ms up to 5 s, ±10 %', () => {
    const { attempts, backoff } = resolveRetry(undefined, 'producer')
    expect(attempts).toBe(4)
    expect([1, 2, 3].map(retry => backoff.delayMs(retry, 0, middle))).toEqual([100, 200, 400])
    expect([backoff.delayMs(1, 0, lowest), backoff.delayMs(1, 0, highest)]).toEqual([90, 110])
    expect(backoff.maxMs).toBe(5_000)
  })

  it('F1: a consumer makes 5 retries from 1 s up to 60 s, doubling, ±10 %', () => {
    const { attempts, backoff } = resolveRetry({}, 'consumer')
    expect(attempts).toBe(6)
    expect([1, 2, 3].map(retry => backoff.delayMs(retry, 0, middle))).toEqual([1_000, 2_000, 4_000])
    expect([backoff.delayMs(1, 0, lowest), backoff.delayMs(1, 0, highest)]).toEqual([900, 1_100])
    expect(backoff.maxMs).toBe(60_000)
  })

  it('S2: an outbox makes 5 attempts from 1 s up to 5 min with full jitter', () => {
    const { attempts, backoff } = resolveRetry(undefined, 'outbox')
    expect(attempts).toBe(5)
    expect([backoff.delayMs(2, 0, lowest), backoff.delayMs(2, 0, highest)]).toEqual([0, 2_000])
    expect(backoff.maxMs).toBe(300_000)
  })

  it('E1: Loki makes 5 retries from 200 ms, Sentry 2 from 50 ms', () => {
    const loki = resolveRetry({ attempts: 6, backoff: exponential({ baseMs: 200 }) }, 'producer')
    const sentry = resolveRetry({ attempts: 3, backoff: exponential({ baseMs: 50 }) }, 'producer')
    expect([loki.attempts, loki.backoff.delayMs(1, 0, middle)]).toEqual([6, 200])
    expect([sentry.attempts, sentry.backoff.delayMs(1, 0, middle)]).toEqual([3, 50])
  })

  it('E1: what is left out, or undefined, comes from the preset', () => {
    const policy = resolveRetry({ attempts: 9, backoff: undefined }, 'consumer')
    expect(policy).toEqual({ ...RETRY_PRESETS.consumer, attempts: 9 })
  })

  it('K3: tiers say the number of attempts, unless it is given', () => {
    const backoff = tiers([
      { retries: 3, backoff: fixed() },
      { retries: 4, backoff: fixed() },
    ])
    expect(resolveRetry({ backoff }, 'consumer').attempts).toBe(8)
    expect(resolveRetry({ backoff, attempts: 2 }, 'consumer').attempts).toBe(2)
  })

  it('K3: a category has its own attempts and backoff, and falls back to the policy', () => {
    const slow = fixed({ delayMs: 60_000 })
    const quickThenSlow = tiers([{ retries: 2, backoff: slow }])
    const { byCategory, backoff } = resolveRetry(
      { attempts: 7, byCategory: { schema: { attempts: 1 }, integration: { backoff: quickThenSlow } } },
      'consumer',
    )
    expect(byCategory).toEqual({
      schema: { attempts: 1, backoff },
      integration: { attempts: 3, backoff: quickThenSlow },
    })
  })

  it('K3: noRetry makes one attempt and can be passed as options', () => {
    expect(resolveRetry(noRetry, 'consumer').attempts).toBe(1)
    expect(resolveRetry(RETRY_PRESETS.outbox, 'consumer')).toEqual(RETRY_PRESETS.outbox)
  })

  it('E1: the options are not touched and the policy is frozen', () => {
    const options: RetryOptions = { attempts: 2, byCategory: { schema: { attempts: 1 } } }
    const before = structuredClone(options)
    const policy = resolveRetry(options, 'producer')
    expect(options).toEqual(before)
    expect(Object.isFrozen(options)).toBe(false)
    expect([policy, policy.byCategory, policy.byCategory.schema].every(Object.isFrozen)).toBe(true)
  })

  it('E1: all faults are in one error, nested ones too, and other options report them with their own', () => {
    const wrong = {
      attempts: 0,
      backoff: 'exponential',
      maxElapsedMs: Number.POSITIVE_INFINITY,
      retryAfterMaxMS: 5,
      byCategory: { shema: {}, business: { attempts: 1.5 } },
    } as never
    const paths = ['retryAfterMaxMS', 'attempts', 'backoff', 'maxElapsedMs', 'byCategory.shema']
    const expected = [...paths, 'byCategory.business.attempts']
    expect(faultPaths(() => resolveRetry(wrong, 'producer'))).toEqual(expected.map(path => `retry.${path}`))
    const outer = group({ retry: retryRule('consumer') })
    expect(faultPaths(() => resolveBy('consumer', outer, { retry: wrong, other: 1 }))).toEqual([
      'consumer.other',
      ...expected.map(path => `consumer.retry.${path}`),
    ])
  })
})

function faultPaths(resolve: () => unknown): string[] | undefined {
  try {
    resolve()
  } catch (error) {
    return error instanceof OptionsError ? error.faults.map(fault => fault.path) : undefined
  }
  return undefined
}
