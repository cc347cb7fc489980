import { describe, expect, it } from 'vitest'
import { Faults } from '../options/faults.ts'
import { resolveBy } from '../options/resolve.ts'
import { type PoisonOptions, poisonRule } from './options.ts'

const resolvePoison = (input?: PoisonOptions | 'off') => resolveBy('poison', poisonRule, input)

describe('poison options', () => {
  it('K5: 3 times in 60 s by default; B8: 3 crashes', () => {
    expect(resolvePoison(undefined)).toEqual({ repeats: 3, windowMs: 60_000, crashes: 3 })
    expect(resolvePoison({ repeats: 5 })).toEqual({ repeats: 5, windowMs: 60_000, crashes: 3 })
  })

  it('K5: can be switched off', () => {
    expect(resolvePoison('off')).toBe('off')
  })

  it('F7: all faults are listed at once, under the path of the larger options', () => {
    const wrong = { repeats: 1, windowMs: 0, crashes: 0.5, window: 9 } as PoisonOptions
    expect(() => resolvePoison(wrong)).toThrow('4 faults')
    const faults = new Faults()
    poisonRule.read({ repeats: 1 }, 'createConsumer.poison', faults)
    expect(faults.list.map(fault => fault.path)).toEqual(['createConsumer.poison.repeats'])
  })

  it('F7: a word other than off is refused', () => {
    expect(() => resolvePoison('no' as 'off')).toThrow('got "no"')
  })
})
