import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { matchesPattern, type NamePattern, patternRule } from './pattern.ts'
import { resolveBy } from './resolve.ts'

describe('name patterns', () => {
  it.each<[NamePattern, string, boolean]>([
    ['order.paid', 'order.paid', true],
    ['order.paid', 'order.paid.late', false],
    ['order.paid', 'orderxpaid', false],
    ['order.*', 'order.', true],
    ['order.*', 'order.a.b', true],
    ['order.*', 'preorder.a', false],
    ['*.failed', 'order.failed', true],
    ['*.failed', 'order.failed.x', false],
    ['a*a', 'a', false],
    ['a*a', 'aa', true],
    ['a*b*c', 'a-b-b-c', true],
    ['a*bc*bc', 'abc', false],
    ['*', '', true],
    ['**', 'anything', true],
    ['a**b', 'ab', true],
    ['(x+)+$', '(x+)+$', true],
    [/^order\./, 'order.paid', true],
    [/^order\./, 'preorder.paid', false],
    [/paid/i, 'order.PAID', true],
    [/paid/y, 'order.paid', false],
  ])('E12 E15: %s and %s: %s', (pattern, name, matches) => {
    expect(matchesPattern(pattern, name)).toBe(matches)
  })

  it('E12 E15: a global expression gives the same answer every time and is left as it was', () => {
    const pattern = /a/g
    pattern.lastIndex = 1
    expect([1, 2, 3].map(() => matchesPattern(pattern, 'a'))).toEqual([true, true, true])
    expect(pattern.lastIndex).toBe(1)
  })

  it('E12 E15: stars match as an escaped regular expression would, for any pattern and name', () => {
    const letters = fc.string({ unit: fc.constantFrom('a', 'b', '.', '*'), maxLength: 12 })
    const names = fc.string({ unit: fc.constantFrom('a', 'b', '.'), maxLength: 12 })
    fc.assert(
      fc.property(letters, names, (pattern, name) => {
        const pieces = pattern.split('*').map(piece => piece.replaceAll('.', '\\.'))
        expect(matchesPattern(pattern, name)).toBe(new RegExp(`^${pieces.join('.*')}$`).test(name))
      }),
      { numRuns: 5_000 },
    )
  })

  it('E15: no pattern makes it slow', { timeout: 60_000 }, () => {
    expect(matchesPattern(`${'*a'.repeat(50)}*b`, 'a'.repeat(100_000))).toBe(false)
  })

  it('E12 E15: an option takes texts and regular expressions', () => {
    expect(resolveBy('it', patternRule, 'a*')).toBe('a*')
    expect(resolveBy('it', patternRule, /a/)).toEqual(/a/)
    for (const wrong of ['', 5, null, {}])
      expect(() => resolveBy('it', patternRule, wrong)).toThrow('give a name')
  })
})
