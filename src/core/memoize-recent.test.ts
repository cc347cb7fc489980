import fc from 'fast-check'
import { expect, it } from 'vitest'
import { memoizeRecent } from './memoize-recent.ts'

it('B4: remembered results equal the computed ones, in any order of calls', () => {
  fc.assert(
    fc.property(fc.array(fc.tuple(fc.string({ maxLength: 3 }), fc.nat({ max: 3 }))), asked => {
      const work = (text: string, rest: number) => `${rest}: ${text}`
      const remembering = memoizeRecent(work, (one, other) => one === other)
      for (const [text, rest] of asked) expect(remembering(text, rest)).toBe(work(text, rest))
    }),
  )
})

it('B4: the same is worked out once, and nothing large is kept', () => {
  let times = 0
  const remembering = memoizeRecent<undefined, number>(
    () => ++times,
    () => true,
  )
  for (let i = 0; i < 5; i++) expect(remembering('a', undefined)).toBe(1)
  for (let i = 0; i < 8; i++) remembering(String(i), undefined)
  expect(remembering('a', undefined)).toBe(10)
  const large = 'x'.repeat(10_001)
  expect(remembering(large, undefined)).toBe(11)
  expect(remembering(large, undefined)).toBe(12)
})
