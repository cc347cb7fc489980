import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonValue } from '../core/event/event.ts'
import type { PatchOperation } from '../ports/replays.ts'
import { applyPatch } from './json-patch.ts'

type Row = [document: JsonValue, operation: PatchOperation, expected: JsonValue]

describe('a JSON Patch', () => {
  it('B13: does what RFC 6902 says, operation by operation', () => {
    const rows: Row[] = [
      [{ foo: 'bar' }, { op: 'add', path: '/baz', value: 'qux' }, { foo: 'bar', baz: 'qux' }],
      [{ foo: ['a', 'c'] }, { op: 'add', path: '/foo/1', value: 'b' }, { foo: ['a', 'b', 'c'] }],
      [{ foo: ['a'] }, { op: 'add', path: '/foo/-', value: ['b'] }, { foo: ['a', ['b']] }],
      [{ foo: 1, baz: 2 }, { op: 'remove', path: '/baz' }, { foo: 1 }],
      [{ foo: ['a', 'b', 'c'] }, { op: 'remove', path: '/foo/1' }, { foo: ['a', 'c'] }],
      [{ foo: 1 }, { op: 'replace', path: '/foo', value: null }, { foo: null }],
      [
        { a: { x: 1 }, b: {} },
        { op: 'move', from: '/a/x', path: '/b/y' },
        { a: {}, b: { y: 1 } },
      ],
      [{ a: [1, 2] }, { op: 'copy', from: '/a', path: '/b' }, { a: [1, 2], b: [1, 2] }],
      [
        { 'a/b': 1, 'm~n': 2 },
        { op: 'replace', path: '/a~1b', value: 9 },
        { 'a/b': 9, 'm~n': 2 },
      ],
      [
        { 'a/b': 1, 'm~n': 2 },
        { op: 'replace', path: '/m~0n', value: 9 },
        { 'a/b': 1, 'm~n': 9 },
      ],
      ['old', { op: 'replace', path: '', value: { new: true } }, { new: true }],
      [
        { a: { b: [1, { c: 2 }] } },
        { op: 'test', path: '/a', value: { b: [1, { c: 2 }] } },
        { a: { b: [1, { c: 2 }] } },
      ],
    ]
    for (const [document, operation, expected] of rows)
      expect(applyPatch(document, [operation])).toEqual(expected)
  })

  it('B13: refuses what does not fit, names the operation, and changes nothing', () => {
    const document = { a: [1], b: { c: 1 } }
    const before = structuredClone(document)
    const bad: PatchOperation[] = [
      { op: 'add', path: '/x/y', value: 1 },
      { op: 'add', path: '/a/2', value: 1 },
      { op: 'add', path: '/a/01', value: 1 },
      { op: 'remove', path: '/z' },
      { op: 'remove', path: '' },
      { op: 'replace', path: '/z', value: 1 },
      { op: 'move', from: '/b', path: '/b/c' },
      { op: 'test', path: '/a', value: [2] },
      { op: 'add', path: 'a', value: 1 },
      { op: 'add', path: '/q' },
      { op: 'nonsense' as 'add', path: '/q', value: 1 },
    ]
    for (const operation of bad) {
      const patch: PatchOperation[] = [{ op: 'add', path: '/ok', value: 1 }, operation]
      expect(() => applyPatch(document, patch), JSON.stringify(operation)).toThrow(/patch operation 2/)
      expect(document).toEqual(before)
    }
  })

  it('a name like __proto__ is data', () => {
    const patched = applyPatch({}, [{ op: 'add', path: '/__proto__', value: { polluted: true } }])
    expect(Object.keys(patched as object)).toEqual(['__proto__'])
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
  })

  it('B13: refuses to change a part of bytes, which have no fields, and can replace them', () => {
    const bytes = new Uint8Array([1, 2, 3]) as unknown as JsonValue
    const parts: PatchOperation[] = [
      { op: 'add', path: '/x', value: 1 },
      { op: 'add', path: '/0', value: 9 },
      { op: 'replace', path: '/0', value: 9 },
      { op: 'test', path: '/0', value: 1 },
      { op: 'remove', path: '/x' },
    ]
    for (const operation of parts)
      expect(() => applyPatch(bytes, [operation]), JSON.stringify(operation)).toThrow(
        `(${operation.op} ${operation.path}): bytes have no fields; replace the whole payload`,
      )
    expect(applyPatch(bytes, [{ op: 'replace', path: '', value: { x: 1 } }])).toEqual({ x: 1 })
  })

  it('B13: refuses copies of copies, which would fill the memory', () => {
    const whole = Array.from(
      { length: 100 },
      (_, n): PatchOperation => ({ op: 'copy', from: '', path: `/${n}` }),
    )
    expect(() => applyPatch({}, whole)).toThrow(/copies more than 1048576 characters/)
    const text = [{ op: 'add', path: '/x', value: 'x'.repeat(400_000) } as const, ...whole]
    expect(() => applyPatch({}, text)).toThrow('patch operation 3 (copy /1): ')
  })

  it('B13: never changes the patch, so a letter does not get values of the letter before it', () => {
    for (const op of ['add', 'replace'] as const) {
      const patch: PatchOperation[] = [
        { op, path: '/to', value: [] },
        { op: 'copy', from: '/owner', path: '/to/-' },
      ]
      expect(applyPatch({ owner: 'ann', to: null }, patch)).toEqual({ owner: 'ann', to: ['ann'] })
      expect(applyPatch({ owner: 'bob', to: null }, patch)).toEqual({ owner: 'bob', to: ['bob'] })
      expect(patch[0]!.value).toEqual([])
    }
  })

  it('B13: adding and removing again leaves the document as it was', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue()),
        fc.string(),
        fc.jsonValue(),
        (document, key, value) => {
          fc.pre(!Object.hasOwn(document, key))
          const path = `/${key.replaceAll('~', '~0').replaceAll('/', '~1')}`
          const patch: PatchOperation[] = [
            { op: 'add', path, value: value as JsonValue },
            { op: 'test', path, value: value as JsonValue },
            { op: 'remove', path },
          ]
          expect(applyPatch(document as JsonValue, patch)).toEqual(document)
        },
      ),
    )
  })
})
