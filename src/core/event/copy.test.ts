import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { copyOfPayload } from './copy.ts'

/** Every object and list of a value. */
function partsOf(value: unknown): object[] {
  if (typeof value !== 'object' || value === null) return []
  return [value, ...Object.values(value).flatMap(partsOf)]
}

describe('the copy of a payload', () => {
  it('P2: is equal to it, and shares no part with it', () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue()), payload => {
        const copy = copyOfPayload(payload)
        expect(copy).toEqual(payload)
        const parts = new Set(partsOf(payload))
        expect(partsOf(copy).filter(part => parts.has(part))).toEqual([])
      }),
    )
  })

  it('P2: has names that JSON.parse makes and a literal cannot', () => {
    const payload = JSON.parse('{"__proto__":{"admin":true},"constructor":[1]}')
    const copy = copyOfPayload(payload) as typeof payload
    expect(JSON.stringify(copy)).toBe(JSON.stringify(payload))
    expect(copy.admin).toBeUndefined()
  })

  it('P2: shares instances of classes', () => {
    const at = new Date(0)
    expect(copyOfPayload({ at })).toEqual({ at })
    expect((copyOfPayload({ at }) as { at: Date }).at).toBe(at)
  })

  it('P2: is the payload itself where it cannot be copied', () => {
    const circle: unknown[] = []
    circle.push(circle)
    // Each level appears twice in the level above. Written out, that is more than any memory has.
    let folded: unknown = {}
    for (let level = 0; level < 100; level++) folded = { left: folded, right: folded }
    let deep: unknown = {}
    for (let level = 0; level < 100_000; level++) deep = [deep]
    const throwing = Object.defineProperty({}, 'half', {
      enumerable: true,
      get() {
        throw new Error('no')
      },
    })
    for (const payload of [circle, folded, deep, throwing, undefined, 1n, 'text'])
      expect(copyOfPayload(payload)).toBe(payload)
  })
})
