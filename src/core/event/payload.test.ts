import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { Faults } from '../options/faults.ts'
import { checkPayload } from './payload.ts'

const LIMITS = { maxPayloadBytes: 100_000, maxDepth: 64 }

function faultsOf(payload: unknown, limits = LIMITS) {
  const faults = new Faults()
  checkPayload(payload, limits, faults)
  return faults.list
}
const pathsOf = (payload: unknown) => faultsOf(payload).map(fault => fault.path)
const nested = (depth: number) => JSON.parse('['.repeat(depth) + ']'.repeat(depth)) as unknown

describe('what a payload may be', () => {
  it('P2: an accepted payload comes back from JSON as it was', () => {
    fc.assert(
      fc.property(fc.anything({ withNullPrototype: true, withSparseArray: true, withDate: true }), value => {
        if (value === undefined || faultsOf(value).length > 0) return
        expect(JSON.parse(JSON.stringify(value))).toEqual(withoutNegativeZero(value))
      }),
      { numRuns: 1_000 },
    )
  })

  it('P2: every JSON value is accepted, odd names too', () => {
    fc.assert(fc.property(fc.jsonValue(), value => void expect(faultsOf(value)).toEqual([])))
    expect(pathsOf(JSON.parse('{"__proto__":{"a":1},"constructor":2,"":3,"toJSON":4}'))).toEqual([])
    expect(pathsOf(Object.assign(Object.create(null), { a: [null, { b: undefined }] }))).toEqual([])
  })

  it('P2: what JSON would silently change is refused', () => {
    const changed = {
      nan: Number.NaN,
      infinite: -Infinity,
      big: 1n,
      fn: () => 1,
      symbol: Symbol('s'),
      date: new Date(0),
      map: new Map([[1, 2]]),
      boxed: Object('a'),
      instance: new (class Order {})(),
      bytes: new Uint8Array(1),
      own: { toJSON: () => 1 },
      keyed: { [Symbol('k')]: 1 },
      holes: new Array(2),
      hole: [undefined],
      named: Object.assign([1], { extra: 2 }),
    }
    const paths = Object.keys(changed).map(name => (name === 'hole' ? 'payload.hole[0]' : `payload.${name}`))
    expect(pathsOf(changed)).toEqual(paths)
    expect(pathsOf(undefined)).toEqual(['payload'])
  })

  it('P2: bytes are accepted as the whole payload', () => {
    expect(pathsOf(new Uint8Array(100_000))).toEqual([])
    expect(pathsOf(new Uint8Array(100_001))).toEqual(['payload'])
    expect(pathsOf(new Proxy(new Uint8Array(1), {}))).toEqual(['payload'])
  })
})

describe('bounds of a payload', () => {
  it('P2: its size is that of its JSON text in UTF-8, exactly', () => {
    fc.assert(
      fc.property(fc.jsonValue(), value => {
        const bytes = new TextEncoder().encode(JSON.stringify(value)).length
        expect(faultsOf(value, { ...LIMITS, maxPayloadBytes: bytes })).toEqual([])
        if (bytes > 1) expect(faultsOf(value, { ...LIMITS, maxPayloadBytes: bytes - 1 })).toHaveLength(1)
      }),
    )
  })

  it('P2: nesting is bounded, and the deepest payload does not exhaust the stack', () => {
    expect(faultsOf(nested(64))).toEqual([])
    expect(faultsOf(nested(65))).toHaveLength(1)
    expect(faultsOf(nested(100_000))).toHaveLength(1)
  })

  it('P2: cycles are named, shared parts are not mistaken for cycles', () => {
    const cyclic: { a?: unknown } = {}
    cyclic.a = { b: [cyclic] }
    expect(faultsOf(cyclic)).toMatchObject([{ path: 'payload.a.b[0]', remedy: 'break the cycle' }])
    const shared = { x: 1 }
    expect(faultsOf({ first: shared, second: shared })).toEqual([])
  })

  it('P2: a small value that would be a huge text is refused in short time', () => {
    let doubling: unknown = 'x'
    for (let level = 0; level < 60; level++) doubling = [doubling, doubling]
    expect(pathsOf(doubling)).toEqual(['payload'])
    expect(pathsOf(new Array(4_000_000_000))).toEqual(['payload'])
  })

  it('P2: the list of faults is bounded, and so is each path', () => {
    expect(faultsOf(new Array(1_000).fill(Number.NaN)).length).toBe(20)
    expect(faultsOf({ ['k'.repeat(10_000)]: Number.NaN })[0]!.path.length).toBeLessThan(60)
  })

  it('P2: getters and proxies that throw, lie or never end are faults, not exceptions', () => {
    const throwing = Object.defineProperty({}, 'a', { enumerable: true, get: () => JSON.parse('') })
    expect(pathsOf({ deep: [throwing] })).toEqual(['payload.deep[0].a'])
    const endless: object = new Proxy(
      {},
      {
        ownKeys: () => ['again'],
        getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true, value: 1 }),
        get: (_, name) => (name === 'again' ? endlessCopy() : undefined),
      },
    )
    const endlessCopy = () => new Proxy(endless, {})
    expect(faultsOf(endless)).toHaveLength(1)
    const lying = new Proxy([], {
      get: (target, name) => (name === 'length' ? 1e9 : Reflect.get(target, name)),
    })
    expect(faultsOf(lying)).toHaveLength(1)
    const { proxy, revoke } = Proxy.revocable({}, {})
    revoke()
    expect(pathsOf([proxy])).toEqual(['payload[0]'])
  })
})

/** JSON writes -0 as 0, which is equal to it; undefined properties count as absent. */
function withoutNegativeZero(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNegativeZero)
  if (typeof value === 'object' && value !== null) {
    return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, withoutNegativeZero(each)]))
  }
  return Object.is(value, -0) ? 0 : value
}
