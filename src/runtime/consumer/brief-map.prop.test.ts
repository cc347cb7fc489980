import fc from 'fast-check'
import { expect, it } from 'vitest'
import { BriefMap } from './brief-map.ts'

/** Few ids, many of them in one bucket: they end alike, or are short. */
const ids = fc.constantFrom('', 'a', 'ab', 'abc', '1-abc', '2-abc', '3-abc', 'cab', '😀', 'x😀')
const steps = fc.array(fc.record({ kind: fc.constantFrom('set', 'delete'), id: ids, value: fc.nat(9) }), {
  maxLength: 60,
})

it('B8: it holds what a Map holds, after any additions and removals', () => {
  fc.assert(
    fc.property(steps, list => {
      const brief = new BriefMap<{ value: number }>()
      const map = new Map<string, { value: number }>()
      for (const { kind, id, value } of list) {
        const of = { value }
        if (kind === 'set') {
          brief.set(id, of)
          map.set(id, of)
        } else {
          brief.delete(id)
          map.delete(id)
        }
        expect(brief.get(id)).toBe(map.get(id))
      }
      expect(new Set(brief.values())).toEqual(new Set(map.values()))
      for (const [id, of] of map) expect(brief.get(id)).toBe(of)
    }),
  )
})
