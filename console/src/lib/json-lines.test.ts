import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { diffLines } from './diff.ts'
import { jsonLines, linesToCompare, tokensOf } from './json-lines.ts'

describe('json lines', () => {
  it('F8: the parts of a line always add up to the line', () => {
    fc.assert(
      fc.property(fc.jsonValue(), value => {
        for (const line of jsonLines(value))
          expect(
            tokensOf(line)
              .map(({ text }) => text)
              .join(''),
          ).toBe(line)
      }),
    )
    fc.assert(
      fc.property(fc.string(), line => {
        const parts = tokensOf(line).map(({ text }) => text)
        expect(parts.join('')).toBe(line)
      }),
    )
  })

  it('F8: names, strings, numbers, literals and masked values are distinguished', () => {
    const kinds = tokensOf('  "card": "***",').map(({ kind }) => kind)
    expect(kinds).toEqual(['mark', 'name', 'mark', 'mark', 'masked', 'mark'])
    expect(tokensOf('"total": -12.5e3').at(-1)).toEqual({ kind: 'number', text: '-12.5e3' })
    expect(tokensOf('"paid": null').at(-1)).toEqual({ kind: 'word', text: 'null' })
  })

  it('B13: an added value is one new line, not a change of the line before', () => {
    const diff = diffLines(linesToCompare({ a: 'x,' }), linesToCompare({ a: 'x,', b: 2 }))
    expect(diff.filter(({ kind }) => kind !== 'same')).toEqual([{ kind: 'new', text: '  "b": 2' }])
  })

  it('F8: names such as __proto__ are shown like any other', () => {
    const value = JSON.parse('{"__proto__": {"admin": true}, "constructor": 1}') as unknown
    expect(jsonLines(value).join('')).toContain('"__proto__": {')
  })
})
