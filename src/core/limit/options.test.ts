import { describe, expect, it } from 'vitest'
import { OptionsError } from '../options/faults.ts'
import { resolveBy } from '../options/resolve.ts'
import {
  type EventLimitOptions,
  eventLimitRule,
  type RateLimitOptions,
  RETRY_LIMIT_PRESETS,
  type RetryLimitOptions,
  rateLimitRule,
  retryLimitRule,
} from './options.ts'

const resolveRetryLimit = (input?: RetryLimitOptions) => resolveBy('retryLimit', retryLimitRule, input)
const resolveRateLimit = (input: RateLimitOptions) => resolveBy('rateLimit', rateLimitRule, input)
const resolveEventLimit = (input: EventLimitOptions) => resolveBy('rateLimit', eventLimitRule, input)

function faultsOf(resolve: () => unknown): string[] {
  try {
    resolve()
  } catch (error) {
    if (error instanceof OptionsError) return error.faults.map(fault => `${fault.path}: ${fault.received}`)
    throw error
  }
  return []
}

describe('limit options', () => {
  it('E14: a rate limit has a burst of one second’s worth', () => {
    expect(resolveRateLimit({ perSecond: 1_000 })).toEqual({ perSecond: 1_000, burst: 1_000 })
    expect(resolveRateLimit({ perSecond: 1_000, burst: 50 })).toEqual({ perSecond: 1_000, burst: 50 })
  })

  it('E15: the limit on new events lets errors and fatal ones past unless told otherwise', () => {
    expect(resolveEventLimit({ perSecond: 5 })).toEqual({
      perSecond: 5,
      burst: 5,
      bypass: { severities: ['error', 'fatal'], types: [], when: undefined },
    })
    expect(resolveEventLimit({ perSecond: 5, bypass: { severities: [] } }).bypass.severities).toEqual([])
  })

  it('E4: a retry limit is 100 a second, evenly spread, and makes the others wait', () => {
    expect(resolveRetryLimit({})).toEqual({
      onLimit: 'delay',
      jitterRatio: 0,
      maxWaitMs: undefined,
      pacing: { kind: 'smooth', rate: { perSecond: 100, burst: 1, intervalMs: 10 } },
    })
  })

  it('E5: a batch is 100 per second', () => {
    expect(resolveRetryLimit({ batch: {} }).pacing).toEqual({
      kind: 'batch',
      batch: { size: 100, everyMs: 1_000 },
    })
  })

  it.each([
    ['production', 50, 'delay', 1.5],
    ['staging', 100, 'delay', 1],
    ['development', 1_000, 'dead-letter', 0.5],
  ] as const)('E4: preset %s is %i/s, %s, jitter %f', (name, perSecond, onLimit, jitterRatio) => {
    const policy = resolveRetryLimit(RETRY_LIMIT_PRESETS[name])
    expect(policy).toMatchObject({ onLimit, jitterRatio, pacing: { rate: { perSecond } } })
  })

  it('E4: all faults are in one error', () => {
    const wrong = {
      perSecond: 0,
      onLimit: 'wait',
      jitterRatio: Number.NaN,
      batch: { size: 1.5, everyMs: 0 },
      maxWait: 5,
    }
    expect(faultsOf(() => resolveRetryLimit(wrong as never))).toEqual([
      'retryLimit.maxWait: 5',
      'retryLimit.perSecond: 0',
      'retryLimit.onLimit: "wait"',
      'retryLimit.jitterRatio: NaN',
      'retryLimit.batch.size: 1.5',
      'retryLimit.batch.everyMs: 0',
    ])
    expect(
      faultsOf(() => resolveEventLimit({ burst: -1, bypass: { types: [''], when: true } } as never)),
    ).toEqual([
      'rateLimit.perSecond: undefined',
      'rateLimit.burst: -1',
      'rateLimit.bypass.types[0]: ""',
      'rateLimit.bypass.when: true',
    ])
  })

  it('E5: jitter beside a batch is refused', () => {
    const options = { ...RETRY_LIMIT_PRESETS.production, batch: {} }
    expect(faultsOf(() => resolveRetryLimit(options))).toEqual(['retryLimit.jitterRatio: 1.5'])
    expect(faultsOf(() => resolveRetryLimit({ ...options, jitterRatio: 0 }))).toEqual([])
  })
})
