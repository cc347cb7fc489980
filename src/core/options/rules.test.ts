import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Faults } from './faults.ts'
import { nearest } from './nearest.ts'
import { callable, having, integer, list, milliseconds, number, oneOf, type Rule, text } from './rules.ts'

function remedy(rule: Rule<unknown>, value: unknown): string | undefined {
  const faults = new Faults()
  rule.read(value, 'it', faults)
  return faults.list[0]?.remedy
}

describe('option rules', () => {
  it('F7: numbers are held to their limits and kind', () => {
    const share = number({ min: 0, above: true, max: 1 })
    expect([0.1, 1].map(value => remedy(share, value))).toEqual([undefined, undefined])
    for (const wrong of [0, 1.1, -1, Number.NaN, Number.POSITIVE_INFINITY, '1', null, undefined, 1n]) {
      expect(remedy(share, wrong)).toBe('give a number above 0 and at most 1')
    }
    expect(remedy(integer(), 1.5)).toBe('give a whole number')
    expect(remedy(integer(), 2 ** 53)).toBe('give a whole number')
    expect(remedy(milliseconds(), -1)).toBe('give milliseconds of at least 0')
    expect(remedy(milliseconds({ min: 5 }), 4)).toBe('give milliseconds of at least 5')
    expect(remedy(milliseconds(), 0.5)).toBeUndefined()
  })

  it('F7: texts, choices and functions say what would be right', () => {
    expect(remedy(text({ maxLength: 3 }), 'abcd')).toBe('give a string of 1 to 3 characters')
    expect(remedy(text(), '')).toBe('give a string of 1 to 1000 characters')
    expect(remedy(oneOf('a', 'b'), 'c')).toBe("give one of 'a', 'b'")
    expect(remedy(oneOf('a', 'b'), 'b')).toBeUndefined()
    expect(remedy(callable(), {})).toBe('give a function')
  })

  it('F7: an object needs its methods, wherever they come from', () => {
    const clock = having<{ now(): number }>('give an object with now()', 'now')
    class Clock {
      now() {
        return 0
      }
    }
    const callableClock = Object.assign(() => {}, { now: () => 0 })
    for (const right of [new Clock(), { now: () => 0 }, callableClock])
      expect(remedy(clock, right)).toBeUndefined()
    const unreadable = {
      get now() {
        throw new Error('no')
      },
    }
    for (const wrong of [{}, { now: 1 }, () => {}, unreadable, null, undefined, 'now'])
      expect(remedy(clock, wrong)).toBe('give an object with now()')
    const anyObject = having<object>('give an object')
    expect(remedy(anyObject, {})).toBeUndefined()
    expect(remedy(anyObject, () => {})).toBe('give an object')
  })

  it('F7: a list reads every entry, holes included, and has a length', () => {
    expect(remedy(list(text()), 'a')).toBe('give an array of at most 1000')
    expect(remedy(list(text(), { minItems: 1, maxItems: 2 }), [])).toBe('give an array of 1 to 2')
    expect(remedy(list(text(), { maxItems: 2 }), ['a', 'b', 'c'])).toBe('give an array of at most 2')
    // biome-ignore lint/suspicious/noSparseArray: a hole is what this is about
    expect(remedy(list(text()), ['a', , 'b'])).toBe('give a string of 1 to 1000 characters')
  })

  it('F7: no rule throws, whatever it is given', () => {
    const rules = [
      integer(),
      number(),
      milliseconds(),
      text(),
      oneOf('a'),
      callable(),
      list(text()),
      having<{ at(): void }>('', 'at'),
    ]
    fc.assert(
      fc.property(
        fc.anything({ withNullPrototype: true, withBigInt: true }),
        fc.constantFrom(...rules),
        (value, rule) => {
          const faults = new Faults()
          rule.read(value, 'it', faults)
          for (const fault of faults.list) expect(fault.received.length).toBeLessThanOrEqual(60)
        },
      ),
    )
  })

  it('F7: the nearest name is one with few letters wrong, added, missing or swapped', () => {
    const known = ['attempts', 'backoff', 'maxElapsedMs', 'on']
    expect(nearest('atempst', known)).toBe('attempts')
    expect(nearest('atempts', known)).toBe('attempts')
    expect(nearest('backof', known)).toBe('backoff')
    expect(nearest('maxelapsedms', known)).toBe('maxElapsedMs')
    expect(nearest('retries', known)).toBeUndefined()
    expect(nearest('of', known)).toBeUndefined()
    expect(nearest('retries', [...known, 'retry'])).toBe('retry')
    expect(nearest('retires', [...known, 'retry'])).toBe('retry')
    expect(nearest('consume', ['resume'])).toBeUndefined()
  })
})
