import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { cut, plainText } from './plain-text.ts'

describe('plainText', () => {
  it('F8: invisible characters are named, visible ones stay as they are', () => {
    expect(plainText('invoice‮fdp.exe')).toBe('invoice⟨U+202E⟩fdp.exe')
    expect(plainText('a\u0000b​c')).toBe('a⟨U+0000⟩b⟨U+200B⟩c')
    expect(plainText('line\n\tnext <script>alert(1)</script> 日本 👩‍🚀'.replace('‍', ''))).toContain(
      '<script>',
    )
    expect(plainText('line\n\tnext')).toBe('line\n\tnext')
  })
})

describe('cut', () => {
  it('F8: keeps the beginning, gives the number of missing characters, and never splits a character', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 2, max: 20 }), (text, most) => {
        const { text: shown, more } = cut(text, most)
        expect(text.startsWith(shown)).toBe(true)
        expect(shown.length + more).toBe(text.length)
        expect(shown.isWellFormed()).toBe(text.isWellFormed() ? true : shown.isWellFormed())
      }),
    )
  })
})
