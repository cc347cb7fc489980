import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeBase64, encodeBase64 } from './base64.ts'
import { cleanTextBytes, jsonTextBytes, prefixWithin, textBytes } from './text.ts'

const anyText = fc.string({
  unit: fc.oneof(fc.string({ unit: 'binary' }), fc.constantFrom('\ud800', '\udc00', '\n', '"')),
})
const utf8 = new TextEncoder()

describe('sizes of texts', () => {
  it('P2: a text counts as many bytes as its JSON form has', () => {
    fc.assert(
      fc.property(anyText, text => {
        expect(jsonTextBytes(text)).toBe(utf8.encode(JSON.stringify(text)).length)
        expect(textBytes(text)).toBe(utf8.encode(text).length)
      }),
    )
  })

  it('P2: a clean text is one that UTF-8 can carry and that has no control characters', () => {
    fc.assert(
      fc.property(anyText, text => {
        const isClean = text.isWellFormed() && !/\p{Cc}/u.test(text)
        expect(cleanTextBytes(text)).toBe(isClean ? utf8.encode(text).length : undefined)
      }),
    )
  })

  it('P2: a prefix fits, is the longest that fits, and breaks no pair', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.nat(40), (text, maxBytes) => {
        const prefix = prefixWithin(text, maxBytes)
        const next = text.slice(0, prefix.length + (text.codePointAt(prefix.length)! > 0xffff ? 2 : 1))
        expect(text.startsWith(prefix) && prefix.isWellFormed()).toBe(true)
        expect(textBytes(prefix)).toBeLessThanOrEqual(maxBytes)
        expect(prefix === text || textBytes(next) > maxBytes).toBe(true)
      }),
    )
  })
})

describe('base64', () => {
  it('P2: bytes come back as they were, and the text is the standard one', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), bytes => {
        const text = encodeBase64(bytes)
        expect(text).toBe(Buffer.from(bytes).toString('base64'))
        expect(decodeBase64(text)).toEqual(bytes)
      }),
    )
  })

  it('P2: many bytes are encoded without exhausting the stack', () => {
    const bytes = new Uint8Array(1_000_000).map((_, index) => index)
    expect(decodeBase64(encodeBase64(bytes))).toEqual(bytes)
  })

  it('P2: any other text is refused, so that encoding again gives back what was received', () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom('A', 'b', '9', '+', '/', '=', ' ', '-', 'é') }), text => {
        const bytes = decodeBase64(text)
        expect(bytes === undefined || encodeBase64(bytes) === text).toBe(true)
      }),
    )
    for (const text of ['A', 'AA', 'AAA', 'AB==', 'AAB=', '====', 'A===', 'AA=A', 'AAAé']) {
      expect(decodeBase64(text), text).toBeUndefined()
    }
  })
})
