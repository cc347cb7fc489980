import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { applyPatch } from '../../../src/runtime/json-patch.ts'
import type { Json } from '../api/types.ts'
import { patchBetween } from './patch-between.ts'

describe('patchBetween', () => {
  it('B13: the patch turns the original into the edited text', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), (before, after) => {
        const patch = patchBetween(before as Json, after as Json)
        const made = applyPatch(before as never, patch as never)
        expect(JSON.parse(JSON.stringify(made))).toEqual(JSON.parse(JSON.stringify(after)))
      }),
    )
  })

  it('B13: names only what changed', () => {
    const before = { order: 7, lines: [{ sku: 'a', price: '12' }], 'a/b': 1 }
    const after = { order: 7, lines: [{ sku: 'a', price: 12 }], note: 'edited' }
    expect(patchBetween(before, after)).toEqual([
      { op: 'remove', path: '/a~1b' },
      { op: 'replace', path: '/lines/0/price', value: 12 },
      { op: 'add', path: '/note', value: 'edited' },
    ])
    expect(patchBetween(before, before)).toEqual([])
  })
})
