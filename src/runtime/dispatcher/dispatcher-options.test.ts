import { describe, expect, it } from 'vitest'
import { memoryDeadLetters } from '../../adapters/memory/letters/dead-letters.ts'
import { memorySink } from '../../adapters/memory/sink.ts'
import { OptionsError } from '../../core/options/faults.ts'
import { fixed } from '../../core/retry/fixed.ts'
import { type DispatcherOptions, resolveDispatcher } from './dispatcher-options.ts'

const basics = () => ({
  sinks: { loki: memorySink(), sentry: memorySink() },
  deadLetters: memoryDeadLetters(),
})

function faultsOf(options: object): string[] {
  try {
    resolveDispatcher(options as DispatcherOptions)
  } catch (error) {
    return (error as OptionsError).faults.map(({ path }) => path)
  }
  return []
}

describe('dispatcher options', () => {
  it('E17: the defaults', () => {
    const { lanes, graceMs, channel } = resolveDispatcher(basics())
    expect(lanes['loki']).toMatchObject({
      timeoutMs: 5_000,
      batch: { maxCount: 100, maxBytes: 1_048_576, maxWaitMs: 0 },
      buffer: { maxEvents: 10_000, overflow: 'dead-letter' },
      whenOpen: 'dead-letter',
      retry: { attempts: 4 },
      breaker: { policy: { failures: 5, openMs: 60_000, successes: 3 } },
      retryLimit: { onLimit: 'delay', jitterRatio: 1, pacing: { kind: 'smooth', rate: { perSecond: 100 } } },
    })
    expect([graceMs, channel]).toEqual([10_000, 'events'])
  })

  it('E1: overrides merge field by field over what holds for all', () => {
    const backoff = fixed({ delayMs: 7 })
    const { lanes } = resolveDispatcher({
      ...basics(),
      retry: { attempts: 2, backoff },
      overrides: { loki: { retry: { attempts: 6, backoff: undefined } }, sentry: { breaker: 'off' } },
    })
    expect(lanes['loki']?.retry).toMatchObject({ attempts: 6, backoff })
    expect(lanes['sentry']).toMatchObject({ breaker: 'off', retry: { attempts: 2 } })
  })

  it('E17: a sink says which batches it likes best, and options win over that', () => {
    const loki = Object.assign(memorySink(), { batch: { maxCount: 1_000, maxBytes: 5_000 } })
    const lanesOf = (options: Partial<DispatcherOptions>) =>
      resolveDispatcher({ ...basics(), sinks: { loki, plain: memorySink() }, ...options }).lanes
    expect(lanesOf({})['loki']?.batch).toEqual({ maxCount: 1_000, maxBytes: 5_000, maxWaitMs: 0 })
    expect(lanesOf({})['plain']?.batch.maxCount).toBe(100)
    const batch = { maxCount: 7, maxWaitMs: 3 }
    expect(lanesOf({ batch })['loki']?.batch).toEqual({ maxCount: 7, maxBytes: 5_000, maxWaitMs: 3 })
    const overrides = { loki: { batch: { maxBytes: 9 } } }
    expect(lanesOf({ batch, overrides })['loki']?.batch).toEqual({ maxCount: 7, maxBytes: 9, maxWaitMs: 3 })
  })

  it('E1: a sink may have a name that every object knows', () => {
    const sinks = { constructor: memorySink(), toString: memorySink() }
    const { lanes } = resolveDispatcher({ ...basics(), sinks, overrides: { toString: { timeoutMs: 7 } } })
    expect(Object.values(lanes).map(({ timeoutMs }) => timeoutMs)).toEqual([5_000, 7])
  })

  it('F7: every fault is listed at once, wherever it is', () => {
    const faulty = {
      sinks: { 'lo ki': memorySink(), sentry: {} },
      overrides: { sentry: { timeoutMs: -1, bufer: {} }, nobody: {} },
      retry: { attempts: 0 },
      rateLimit: { perSecond: 0 },
      limits: { maxDepth: 0 },
      chanel: 'x',
    }
    expect(faultsOf(faulty).sort()).toEqual([
      'dispatcher.chanel',
      'dispatcher.deadLetters',
      'dispatcher.limits.maxDepth',
      'dispatcher.overrides',
      'dispatcher.overrides.sentry.bufer',
      'dispatcher.overrides.sentry.timeoutMs',
      'dispatcher.rateLimit.perSecond',
      'dispatcher.retry.attempts',
      'dispatcher.sinks',
      'dispatcher.sinks.sentry',
    ])
    expect(faultsOf({ ...basics(), sinks: {} })).toEqual(['dispatcher.sinks'])
    expect(faultsOf({ ...basics(), overrides: { loki: 7 } })).toEqual(['dispatcher.overrides.loki'])
    expect(() => resolveDispatcher({} as DispatcherOptions)).toThrow(OptionsError)
  })
})
