import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { type DiffLine, diffLines, hunksOf } from './diff.ts'

const side = (diff: readonly DiffLine[], without: DiffLine['kind']) =>
  diff.filter(each => each.kind !== without).map(each => each.text)
const texts = fc.array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 12 })

describe('diffLines', () => {
  it('B13: both texts can be restored from the diff', () => {
    fc.assert(
      fc.property(texts, texts, (before, after) => {
        const diff = diffLines(before, after)
        expect(side(diff, 'new')).toEqual(before)
        expect(side(diff, 'gone')).toEqual(after)
      }),
    )
  })

  it('B13: equal texts have no change, and a changed line is one removed and one added line', () => {
    fc.assert(
      fc.property(texts, text => {
        expect(diffLines(text, text).every(({ kind }) => kind === 'same')).toBe(true)
      }),
    )
    const diff = diffLines(['{', '"total": "12"', '}'], ['{', '"total": 12', '}'])
    expect(diff.map(({ kind }) => kind)).toEqual(['same', 'gone', 'new', 'same'])
  })

  it('B13: keeps a longest common subsequence of lines', () => {
    const diff = diffLines(['a', 'b', 'c', 'd', 'e'], ['b', 'x', 'd', 'e', 'y'])
    expect(diff.filter(({ kind }) => kind === 'same').map(({ text }) => text)).toEqual(['b', 'd', 'e'])
  })

  it('B13: texts too long for a full comparison still get a correct diff', () => {
    const before = Array.from({ length: 5_000 }, (_, index) => `old ${index}`)
    const after = Array.from({ length: 5_000 }, (_, index) => `new ${index}`)
    const diff = diffLines(['same', ...before], ['same', ...after])
    expect(side(diff, 'new')).toEqual(['same', ...before])
    expect(side(diff, 'gone')).toEqual(['same', ...after])
  })
})

describe('hunksOf', () => {
  it('B13: leaves out unchanged lines and gives their number', () => {
    const before = Array.from({ length: 20 }, (_, index) => String(index))
    const after = before.with(10, 'ten')
    const { hunks, rest } = hunksOf(diffLines(before, after), 2)
    expect(hunks).toHaveLength(1)
    expect(hunks[0]!.skipped).toBe(8)
    expect(hunks[0]!.lines.map(({ text }) => text)).toEqual(['8', '9', '10', 'ten', '11', '12'])
    expect(rest).toBe(7)
  })

  it('B13: equal texts have no hunk', () => {
    expect(hunksOf(diffLines(['a'], ['a']))).toEqual({ hunks: [], rest: 1 })
  })
})
