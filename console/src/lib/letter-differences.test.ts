import { describe, expect, it } from 'vitest'
import type { LetterDetail } from '../api/types.ts'
import { diffLines } from './diff.ts'
import { comparableLines, hasMasked, letterDifferences } from './letter-differences.ts'

const letter = {
  state: 'dead',
  reason: 'attempts_exhausted',
  category: 'unknown',
  channel: 'orders',
  handler: 'bill',
  release: '2.3.0',
  failure: { name: 'TypeError', message: 'no total' },
  event: { type: 'order.placed', occurredAt: '2026-05-04T02:59:00.000Z', headers: {}, payload: {} },
  attempts: 3,
  replays: 0,
  firstFailedAt: '2026-05-04T03:00:00.000Z',
  lastFailedAt: '2026-05-04T03:00:04.000Z',
} as unknown as LetterDetail

describe('letterDifferences', () => {
  it('F8: lists the fields that differ and those that are equal, and leaves out what neither letter has', () => {
    const other = { ...letter, release: '2.4.0', job: 'nightly' } as LetterDetail
    const found = letterDifferences(letter, other)
    expect(found.filter(({ isChanged }) => isChanged)).toEqual([
      { name: 'release', before: '2.3.0', after: '2.4.0', isChanged: true },
      { name: 'job', before: 'none', after: 'nightly', isChanged: true },
    ])
    const names = found.map(({ name }) => name)
    expect(names).toContain('error')
    expect(names).not.toContain('code')
  })
})

describe('comparableLines', () => {
  it('F8: the order of names does not matter, the order of entries does', () => {
    const lines = comparableLines({ b: 1, a: { d: 2, c: 3 } })
    expect(lines).toEqual(comparableLines({ a: { c: 3, d: 2 }, b: 1 }))
    expect(comparableLines([1, 2])).not.toEqual(comparableLines([2, 1]))
  })

  it('F8: one changed value is one changed line', () => {
    const changed = diffLines(comparableLines({ a: 1, b: 2 }), comparableLines({ b: 2, a: 3 }))
    expect(changed.filter(({ kind }) => kind !== 'same').map(({ text }) => text.trim())).toEqual([
      '"a": 1',
      '"a": 3',
    ])
  })

  it('F8: a part that a letter does not have has no line', () => {
    expect(comparableLines(undefined)).toEqual([])
    expect(comparableLines(null)).toEqual(['null'])
  })
})

describe('hasMasked', () => {
  it('F8: says whether a mask hides a value of either letter', () => {
    const masked = { ...letter, event: { ...letter.event, payload: { card: '***' } } } as LetterDetail
    expect(hasMasked(letter, letter)).toBe(false)
    expect(hasMasked(letter, masked)).toBe(true)
  })
})
