import { describe, expect, it } from 'vitest'
import { OptionsError } from '../options/faults.ts'
import { decorrelated } from './decorrelated.ts'
import { exponential } from './exponential.ts'
import { fixed } from './fixed.ts'
import { linear } from './linear.ts'
import { tiers } from './tiers.ts'

function faultsOf(make: () => unknown): string[] {
  try {
    make()
  } catch (error) {
    if (error instanceof OptionsError) {
      return error.faults.map(fault => `${fault.path}: ${fault.received}: ${fault.remedy}`)
    }
    throw error
  }
  return []
}

describe('backoff options', () => {
  it('E1: all faults are in one error, each with its name, value and remedy', () => {
    const wrong = { baseMs: Number.NaN, maxMs: -5, multiplier: '2', jiter: 'full' } as never
    expect(faultsOf(() => exponential(wrong))).toEqual([
      'exponential.jiter: "full": unknown option, did you mean \'jitter\'?',
      'exponential.baseMs: NaN: give milliseconds from 0 to 31536000000',
      'exponential.maxMs: -5: give milliseconds from 0 to 31536000000',
      'exponential.multiplier: "2": give a number of at least 1',
    ])
  })

  it.each([
    ['exponential', () => exponential({ baseMs: 6_000 })],
    ['linear', () => linear({ baseMs: 6_000 })],
    ['decorrelated', () => decorrelated({ baseMs: 6_000 })],
  ])('E1: %s refuses a base above the cap', (name, make) => {
    expect(faultsOf(make)).toEqual([`${name}.baseMs: 6000: give at most maxMs (5000), or raise maxMs`])
  })

  it('K3: jitter is a known name or a ratio from 0 to 1', () => {
    const given = (jitter: unknown) => faultsOf(() => fixed({ jitter: jitter as never }))
    expect(given('half')).toEqual(["fixed.jitter: \"half\": give one of 'full', 'equal', 'none'"])
    expect(given({ ratio: 1.5 })).toEqual(['fixed.jitter.ratio: 1.5: give a number from 0 to 1'])
    expect(given({ ration: 0.1 })).toHaveLength(2)
    expect(given(0.1)).toEqual([
      "fixed.jitter: 0.1: give 'full', 'equal', 'none' or an object such as { ratio: 0.1 }",
    ])
    expect(given({ ratio: 0 })).toEqual([])
  })

  it('K3: fixed takes an object only', () => {
    expect(faultsOf(() => fixed(500 as never))).toEqual([
      'fixed: 500: give a plain object with delayMs, jitter',
    ])
  })

  it('K3: tiers need at least one, and each a count and a backoff', () => {
    expect(faultsOf(() => tiers([]))).toEqual(['tiers: an array of 0: give an array of 1 to 20'])
    const notABackoff = { kind: 'mine', delayMs: 5, maxMs: 5 }
    const wrong = [
      { retries: 0, backoff: fixed() },
      { retries: 1, backoff: notABackoff },
    ]
    expect(faultsOf(() => tiers(wrong as never)).map(fault => fault.split(': ')[0])).toEqual([
      'tiers[0].retries',
      'tiers[1].backoff',
    ])
  })
})
