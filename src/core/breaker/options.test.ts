import { describe, expect, it } from 'vitest'
import { Faults, OptionsError } from '../options/faults.ts'
import { BREAKER_PRESETS, type BreakerOptions, breakerRule, resolveBreaker } from './options.ts'

describe('breaker options', () => {
  it('E16: producers stay open 60 s and close after 3 successes, consumers 30 s and 2', () => {
    const both = { failures: 5, failureRate: undefined, openMaxMs: undefined, probes: 1 }
    expect(resolveBreaker(undefined, 'producer')).toEqual({ ...both, openMs: 60_000, successes: 3 })
    expect(resolveBreaker({}, 'consumer')).toEqual({ ...both, openMs: 30_000, successes: 2 })
    expect(resolveBreaker({}, 'consumer')).toEqual(BREAKER_PRESETS.consumer)
  })

  it('E16: what is given wins over the preset, what is left out comes from it', () => {
    const policy = resolveBreaker({ failures: 2, probes: 4, openMs: undefined }, 'producer')
    expect(policy).toEqual({ ...BREAKER_PRESETS.producer, failures: 2, probes: 4 })
    expect(Object.isFrozen(policy)).toBe(true)
  })

  it('E16: a failure rate gets a window of 60 s and a sample of 20, and may stand alone', () => {
    const policy = resolveBreaker({ failures: 'off', failureRate: { threshold: 0.5 } }, 'consumer')
    expect(policy.failures).toBe('off')
    expect(policy.failureRate).toEqual({ threshold: 0.5, windowMs: 60_000, minimumCalls: 20 })
  })

  it('F7: all faults are listed at once', () => {
    const wrong = {
      failures: 0,
      failureRate: { threshold: 1.5, windowMs: 5, minimumCalls: 0 },
      openMs: 0,
      successes: 1.5,
      probes: -1,
      treshold: 3,
    }
    expect(faultyPaths(wrong as BreakerOptions)).toEqual([
      'breaker.treshold',
      'breaker.failures',
      'breaker.failureRate.threshold',
      'breaker.failureRate.windowMs',
      'breaker.failureRate.minimumCalls',
      'breaker.openMs',
      'breaker.successes',
      'breaker.probes',
    ])
  })

  it.each<[string, BreakerOptions, string]>([
    ['a breaker that could never open', { failures: 'off' }, 'breaker.failures'],
    ['a cap below the pause', { openMs: 500, openMaxMs: 400 }, 'breaker.openMaxMs'],
    ['a pause of more than a day', { openMs: 86_400_001 }, 'breaker.openMs'],
    [
      'a rate of zero, which any call reaches',
      { failureRate: { threshold: 0 } },
      'breaker.failureRate.threshold',
    ],
  ])('F7: refuses %s', (_, options, path) => {
    expect(faultyPaths(options)).toEqual([path])
  })

  it('F7: as a part of larger options it reports under their path', () => {
    const faults = new Faults()
    breakerRule('consumer').read({ openMs: 'soon' }, 'createConsumer.breaker', faults)
    expect(faults.list.map(fault => fault.path)).toEqual(['createConsumer.breaker.openMs'])
  })
})

function faultyPaths(options: BreakerOptions): string[] {
  try {
    resolveBreaker(options, 'consumer')
  } catch (error) {
    if (error instanceof OptionsError) return error.faults.map(fault => fault.path)
    throw error
  }
  return []
}
