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

  it('F8: joined emoji stay as they are; a joiner elsewhere is named', () => {
    for (const emoji of [
      '👩‍🚀',
      '👨‍👩‍👧',
      '🏳️‍🌈',
      '❤️‍🔥',
      '👍🏽',
      '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}',
    ])
      expect(plainText(`by ${emoji}!`)).toBe(`by ${emoji}!`)
    expect(plainText('pay\u200dpal')).toBe('pay⟨U+200D⟩pal')
    expect(plainText('👩\u200d')).toBe('👩⟨U+200D⟩')
    expect(plainText('👩\u200da')).toBe('👩⟨U+200D⟩a')
    expect(plainText('a\u{e0041}b')).toBe('a⟨U+E0041⟩b')
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
