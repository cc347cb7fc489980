import { describe, expect, it } from 'vitest'
import { type Fault, OptionsError } from './faults.ts'
import { group, resolveBy, resolveOptions } from './resolve.ts'
import { derived, flag, integer, list, milliseconds, optional, text, withDefault } from './rules.ts'

const rules = {
  attempts: withDefault(integer({ min: 1 }), 3),
  baseMs: withDefault(milliseconds(), 100),
  maxMs: withDefault(milliseconds(), 5_000),
  name: optional(text()),
  tags: withDefault(list(text()), Object.freeze([])),
  inner: group({ enabled: withDefault(flag(), true) }),
}

function resolve(input: unknown) {
  return resolveOptions('policy', rules, input, ({ baseMs, maxMs }, fault) => {
    if (baseMs > maxMs) fault('baseMs', `give at most maxMs (${maxMs})`)
  })
}

function faultsOf(input: unknown): readonly Fault[] {
  try {
    resolve(input)
  } catch (error) {
    if (error instanceof OptionsError) return error.faults
    throw error
  }
  return []
}

describe('reading options', () => {
  it('F7: what is left out, or undefined, gets its default', () => {
    const defaults = {
      attempts: 3,
      baseMs: 100,
      maxMs: 5_000,
      name: undefined,
      tags: [],
      inner: { enabled: true },
    }
    expect(resolve(undefined)).toEqual(defaults)
    expect(resolve({ attempts: undefined, nonsense: undefined })).toEqual(defaults)
    expect(resolve({ attempts: 7, inner: { enabled: false } })).toEqual({
      ...defaults,
      attempts: 7,
      inner: { enabled: false },
    })
  })

  it('F7: every fault is in one error, with its name, the value received and the remedy', () => {
    const wrong = { attempts: 0, baseMs: '5', maxMs: Number.NaN, tags: ['a', 3], inner: { enabled: 'yes' } }
    expect(faultsOf(wrong)).toEqual([
      { path: 'policy.attempts', received: '0', remedy: 'give a whole number of at least 1' },
      { path: 'policy.baseMs', received: '"5"', remedy: 'give milliseconds of at least 0' },
      { path: 'policy.maxMs', received: 'NaN', remedy: 'give milliseconds of at least 0' },
      { path: 'policy.tags[1]', received: '3', remedy: 'give a string of 1 to 1000 characters' },
      { path: 'policy.inner.enabled', received: '"yes"', remedy: 'give true or false' },
    ])
    expect(() => resolve(wrong)).toThrow(
      /^policy: 5 faults in the options\n {2}policy\.attempts: got 0; give a whole number of at least 1\n/,
    )
  })

  it('F7: the error has the code of refused options and is not worth a retry', () => {
    expect(() => resolve({ attempts: 0 })).toThrow(
      expect.objectContaining({ name: 'OptionsError', code: 'LAZARET_OPTIONS_INVALID', retryable: false }),
    )
    expect(() => resolve({ attempts: 0 })).toThrow('policy: 1 fault in the options')
  })

  it('F7: fields that contradict each other are a fault, once each is right by itself', () => {
    expect(faultsOf({ baseMs: 6_000 })).toEqual([
      { path: 'policy.baseMs', received: '6000', remedy: 'give at most maxMs (5000)' },
    ])
    expect(faultsOf({ baseMs: 6_000, attempts: 0 }).map(fault => fault.path)).toEqual(['policy.attempts'])
  })

  it('F7: an unknown option names the one that was meant, or all that are known', () => {
    const remedies = (input: unknown) => faultsOf(input).map(fault => fault.remedy)
    expect(remedies({ atempts: 3 })).toEqual(["unknown option, did you mean 'attempts'?"])
    expect(remedies({ BASEMS: 3 })).toEqual(["unknown option, did you mean 'baseMs'?"])
    expect(remedies({ inner: { enabeld: true } })).toEqual(["unknown option, did you mean 'enabled'?"])
    expect(remedies({ colour: 'red' })).toEqual([
      'unknown option, remove it; known options are attempts, baseMs, maxMs, name, tags, inner',
    ])
    expect(remedies(JSON.parse('{"__proto__":{"attempts":9}}'))).toHaveLength(1)
  })

  it.each([
    ['null', null],
    ['5', 5],
    ['an array of 1', [{}]],
    ['an object of class Map', new Map([['attempts', 5]])],
    ['an object of class Promise', Promise.resolve({ attempts: 5 })],
  ])('F7: %s is not options', (received, input) => {
    expect(faultsOf(input)).toEqual([
      {
        path: 'policy',
        received,
        remedy: 'give a plain object with attempts, baseMs, maxMs, name, tags, inner',
      },
    ])
  })

  it('F7: an object without a prototype is options', () => {
    expect(resolve(Object.assign(Object.create(null), { attempts: 8 })).attempts).toBe(8)
  })

  it('F7: the result is frozen and the input is not touched', () => {
    const input = { attempts: 5, tags: ['a'], inner: { enabled: false } }
    const before = structuredClone(input)
    const resolved = resolve(input)
    expect([resolved, resolved.tags, resolved.inner].every(Object.isFrozen)).toBe(true)
    expect(input).toEqual(before)
    expect([input, input.tags, input.inner].some(Object.isFrozen)).toBe(false)
  })

  it('F7: derived values are only computed from options without faults', () => {
    const doubled = derived(group({ count: integer({ min: 1 }) }), ({ count }) => count * 2)
    expect(resolveBy('it', doubled, { count: 4 })).toBe(8)
    expect(() => resolveBy('it', doubled, { count: 0 })).toThrow('it.count: got 0')
  })
})
