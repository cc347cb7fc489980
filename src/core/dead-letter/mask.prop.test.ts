import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { PERSONAL_NAMES, SECRET_NAMES } from './built-in-masks.ts'
import { maskForDisplay } from './mask.ts'
import { createMasks } from './masks.ts'

const SECRET = 'S3cr3tValue'
const json = fc.jsonValue({ maxDepth: 4 })
const bare = (name: string) => name.replace('*', '')

/** A secret somewhere below a value, and the way to it. */
const planted = (secret: fc.Arbitrary<unknown>, last: fc.Arbitrary<string>) =>
  fc
    .tuple(
      fc.array(fc.oneof(fc.constantFrom('a', 'items', '__proto__'), fc.nat(3)), { maxLength: 5 }),
      last,
      secret,
      json,
    )
    .map(([way, name, value, beside]) => {
      let root: unknown = object([
        [name, value],
        ['beside', beside],
      ])
      for (const into of way.toReversed()) {
        root =
          typeof into === 'number'
            ? [...Array(into).fill(beside), root]
            : object([
                [into, root],
                ['next', beside],
              ])
      }
      return { root, way: [...way, name] }
    })

describe('masking', () => {
  it('P2: what stands under a masked name never shows, wherever it is and whatever it is in', () => {
    const secret = fc.oneof(fc.constant(SECRET), fc.constant([{ x: SECRET }]), fc.constant({ [SECRET]: 1 }))
    fc.assert(
      fc.property(
        planted(secret, fc.constantFrom(...[...SECRET_NAMES, ...PERSONAL_NAMES].map(bare))),
        ({ root }) => {
          expect(JSON.stringify(root)).toContain(SECRET)
          expect(JSON.stringify(maskForDisplay(root))).not.toContain(SECRET)
        },
      ),
    )
  })

  it('P2: what a path leads to never shows, whether it is named step by step or by wildcards', () => {
    const spelled = (way: readonly (string | number)[], loose: readonly boolean[]) =>
      way.map((into, at) =>
        loose[at] ? (at % 2 === 0 ? '.*' : '.**.*') : typeof into === 'number' ? `[${into}]` : `.${into}`,
      )
    fc.assert(
      fc.property(
        planted(fc.constant(SECRET), fc.constant('here')),
        fc.array(fc.boolean()),
        ({ root, way }, loose) => {
          const path = spelled(way, loose).join('').replace(/^\./, '')
          const shown = maskForDisplay(root, createMasks({ paths: [path], defaults: false }))
          expect(JSON.stringify(shown)).not.toContain(SECRET)
        },
      ),
      { numRuns: 500 },
    )
  })

  it('P2: what looks like a secret never shows, in a text, beside others, or as a name', () => {
    const looks = fc.constantFrom(
      ['4111111111111111', '4111111111111111'],
      ['5500-0000-0000-0004', '5500-0000-0000-0004'],
      [`Bearer ${SECRET}`, SECRET],
      [`password: "${SECRET} and more"`, 'and more'],
      [`token=${SECRET}`, SECRET],
      [`https://user:${SECRET}@host/x`, SECRET],
      [`${SECRET}@example.com`, SECRET],
      [`Cookie: a=b; c=${SECRET}`, SECRET],
      [`eyJhbGciOiJI.${SECRET}.x`, SECRET],
    )
    const around = fc.stringMatching(/^[a-z ,.\n(]{0,12}$/).map(text => (text === '' ? '' : `${text} `))
    fc.assert(
      fc.property(looks, around, around, fc.boolean(), ([secret, leak], before, after, asName) => {
        const text = `${before}${secret!} ${after}${secret!}`
        const shown = JSON.stringify(maskForDisplay(asName ? { [text]: 1 } : [text]))
        expect(shown).not.toContain(leak)
      }),
      { numRuns: 1_000 },
    )
  })

  it('P2: the input is never touched, and what is shown is new JSON', () => {
    fc.assert(
      fc.property(planted(json, fc.constant('password')), ({ root }) => {
        const before = JSON.stringify(root)
        const shown = maskForDisplay(deepFreeze(root))
        expect(JSON.stringify(root)).toBe(before)
        expect(shown).not.toBe(root)
        expect(JSON.stringify(JSON.parse(JSON.stringify(shown)))).toBe(JSON.stringify(shown))
      }),
    )
  })

  it('P2: whatever the value, showing it never throws', () => {
    fc.assert(
      fc.property(fc.anything({ withBigInt: true, withMap: true, withTypedArray: true }), value => {
        expect(JSON.stringify(maskForDisplay(value))).toBeTypeOf('string')
      }),
    )
  })

  it('P2: texts made to be slow end within the time of a test', { timeout: 60_000 }, () => {
    const units = [
      'eyJ-',
      'a.',
      '4 ',
      'password=',
      'bearer   ',
      '@',
      'a://',
      '?key',
      '\\"',
      'a@',
      '-',
      'cookie:',
    ]
    for (const unit of units) maskForDisplay(unit.repeat(500_000 / unit.length))
  })
})

/** Unlike a literal, keeps `__proto__` as a property. */
function object(entries: readonly (readonly [string, unknown])[]): object {
  return Object.fromEntries(entries)
}

function deepFreeze(value: unknown): unknown {
  if (typeof value === 'object' && value !== null) {
    Object.freeze(value)
    Object.values(value).forEach(deepFreeze)
  }
  return value
}
