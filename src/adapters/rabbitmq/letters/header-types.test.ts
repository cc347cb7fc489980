import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { longValue, readTable, tableBody } from '../broker/wire/table.ts'
import { fromText, typedText } from './header-types.ts'

const fixed = (letter: string, bytes: number) =>
  fc
    .uint8Array({ minLength: bytes, maxLength: bytes })
    .map(body => Buffer.concat([Buffer.from(letter), Buffer.from(body)]))
const flag = fc.boolean().map(value => Buffer.from([0x74, value ? 1 : 0]))
const long = (letter: 'S' | 'x') =>
  fc.uint8Array({ maxLength: 20 }).map(body => longValue(letter, Buffer.from(body)))
const { value } = fc.letrec<{ value: Buffer; table: Buffer; array: Buffer }>(tie => ({
  value: fc.oneof(
    { depthSize: 'small' },
    flag,
    fc.constant(Buffer.from('V')),
    ...['b', 'B'].map(letter => fixed(letter, 1)),
    ...['s', 'u'].map(letter => fixed(letter, 2)),
    ...['I', 'i', 'f'].map(letter => fixed(letter, 4)),
    ...['l', 'd', 'T'].map(letter => fixed(letter, 8)),
    fixed('D', 5),
    long('S'),
    long('x'),
    tie('table'),
    tie('array'),
  ),
  table: fc
    .uniqueArray(fc.tuple(fc.string({ maxLength: 8 }), tie('value')), {
      selector: ([name]) => name,
      maxLength: 3,
    })
    .map(entries => longValue('F', tableBody(entries.map(([name, inner]) => ({ name, value: inner }))))),
  array: fc.array(tie('value'), { maxLength: 3 }).map(values => longValue('A', Buffer.concat(values))),
}))

describe('typed headers as text', () => {
  it('P2: whatever has a text and a type comes back as the bytes it was, through JSON', () => {
    const isNaNOf = (bytes: Buffer) => /NaN/.test(typedText(bytes)?.text ?? 'NaN')
    fc.assert(
      fc.property(value, bytes => {
        const typed = typedText(bytes)
        // Only the many ways to say "not a number" are refused, and told as such.
        if (typed === undefined) return isNaNOf(bytes)
        expect(fromText(typed.text, JSON.parse(JSON.stringify(typed.type)))).toEqual(bytes)
        return true
      }),
      { numRuns: 2_000 },
    )
  })

  it.each([
    ['null', Buffer.from('V'), ''],
    ['-3 in a byte', Buffer.from([0x62, 0xfd]), '-3'],
    ['253 in an unsigned byte', Buffer.from([0x42, 0xfd]), '253'],
    ['true', Buffer.from([0x74, 1]), 'true'],
    ['2^63 - 1', Buffer.from([0x6c, 0x7f, 255, 255, 255, 255, 255, 255, 255]), '9223372036854775807'],
    ['bytes that are no text', longValue('x', Buffer.from([0xff, 0])), '/wA='],
    ['a long string that is no text', longValue('S', Buffer.from([0xff])), '/w=='],
    [
      'a table in which a name is __proto__',
      longValue('F', tableBody([{ name: '__proto__', value: Buffer.from([0x62, 1]) }])),
      '{"__proto__":1}',
    ],
  ])('P2: %s', (_, bytes, text) => {
    const typed = typedText(bytes)
    expect(typed?.text).toBe(text)
    expect(fromText(text, JSON.parse(JSON.stringify(typed!.type)))).toEqual(bytes)
  })

  it('B13: a text that was edited keeps its type if it can, and is a text otherwise', () => {
    expect(fromText('7', 'b')).toEqual(Buffer.from([0x62, 7]))
    for (const text of ['700', 'seven', '1.5', '']) expect(fromText(text, 'b')).toBeUndefined()
    expect(fromText('{"x":2}', { F: { x: 'b' } })).toBeDefined()
    expect(fromText('{"y":2}', { F: { x: 'b' } })).toBeUndefined()
    expect(fromText('no', 't')).toBeUndefined()
  })

  it('P2: a value that ends behind its table is not a table', () => {
    expect(() => readTable(Buffer.from([1, 0x61, 0x53, 0, 0, 0, 9]))).toThrow('ends behind')
  })
})
