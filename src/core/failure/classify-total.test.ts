import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { CATEGORIES } from './classification.ts'
import { classify } from './classify.ts'
import { BASIS_MAX } from './fingerprint.ts'
import { CODE_MAX, MESSAGE_MAX, NAME_MAX, STACK_MAX } from './thrown.ts'

const KEYS = [
  'name message code cause errors error suppressed status statusCode response headers get issues arkErrors stack',
  'severity sqlState classId methodId category fingerprint delayMs retryAt retryable constructor length 0',
].flatMap(line => line.split(' '))

const boom = (): never => {
  throw new Error('boom')
}

const throwsOnTouch = new Proxy(Object.create(null), {
  get: boom,
  has: boom,
  ownKeys: boom,
  getPrototypeOf: boom,
  getOwnPropertyDescriptor: boom,
})

const revoked = () => {
  const { proxy, revoke } = Proxy.revocable([], {})
  revoke()
  return proxy
}

/** Answers every property access with another such object, without end. */
const bottomless = (): unknown =>
  new Proxy(() => {}, { get: (_, key) => (key === 'length' ? 2 ** 32 : bottomless()) })

const hostileGetters = fc
  .uniqueArray(fc.constantFrom(...KEYS))
  .map(keys =>
    keys.reduce((target, key) => Object.defineProperty(target, key, { get: boom }), new Error('x')),
  )

/** Hostile values are handed about in functions, for the generator touches what it makes. */
const oddValue = fc.oneof(
  fc.anything().map(value => () => value),
  fc.constantFrom<() => unknown>(revoked, bottomless, () => throwsOnTouch),
)

const oddProperties = fc
  .dictionary(fc.constantFrom(...KEYS), oddValue)
  .map(makers =>
    Object.entries(makers).reduce(
      (error, [key, make]) => Object.defineProperty(error, key, { value: make() }),
      new Error('x'),
    ),
  )

const cyclic = fc.array(fc.anything(), { minLength: 1, maxLength: 12 }).map(values => {
  const errors = values.map(value => Object.assign(new Error('link'), { extra: value }))
  errors.forEach((error, index) => {
    error.cause = errors[(index + 1) % errors.length]
    Object.assign(error, { errors })
  })
  return errors[0]
})

const anything = fc.anything({ withBigInt: true, withDate: true, withMap: true, withTypedArray: true })
const longTexts = fc
  .string({ maxLength: 5_000, unit: 'binary' })
  .map(text => Object.assign(new Error(text), { code: text, name: text }))
const frozen = oddProperties.map(error => Object.freeze(error))

const thrown = fc.oneof(
  oddValue,
  fc.oneof(anything, longTexts, hostileGetters, oddProperties, frozen, cyclic).map(value => () => value),
  fc.constantFrom<unknown>(Symbol('s'), boom, 10n ** 5_000n, class Odd {}).map(value => () => value),
)

describe('classify is total', () => {
  it('F2/S3: every thrown value gets a bounded, storable classification, and the classifier never throws', () => {
    fc.assert(
      fc.property(thrown, fc.option(fc.integer(), { nil: undefined }), (make, now) => {
        const failure = classify(make(), { now, stack: true, rules: [{ when: boom, retryable: false }] })
        expect(failure.name.length).toBeLessThanOrEqual(NAME_MAX)
        expect(failure.message.length).toBeLessThanOrEqual(MESSAGE_MAX)
        expect(failure.code?.length ?? 0).toBeLessThanOrEqual(CODE_MAX)
        expect(failure.stack?.length ?? 0).toBeLessThanOrEqual(STACK_MAX)
        expect(failure.fingerprint.basis.length).toBeLessThanOrEqual(BASIS_MAX)
        expect(CATEGORIES).toContain(failure.category)
        expect(typeof failure.retryable).toBe('boolean')
        expect(failure.retryAfterMs ?? 0).toBeGreaterThanOrEqual(0)
        const json = JSON.stringify(failure)
        expect(json.isWellFormed() && !/\\u0000|\\ud[89a-f]/i.test(json)).toBe(true)
      }),
      { numRuns: 1_000 },
    )
  })

  it('F2/S3: the same value is judged the same twice', () => {
    fc.assert(
      fc.property(anything, value => {
        expect(classify(value)).toEqual(classify(value))
      }),
    )
  })

  const oddities: [unknown, string][] = [
    [undefined, 'undefined'],
    [null, 'null'],
    ['just text', 'just text'],
    [42, '42'],
    [Symbol('s'), 'Symbol(s)'],
    [10n, '10'],
    [10n ** 100n, 'a huge bigint was thrown'],
    [() => {}, 'a function was thrown'],
    [{}, '[object Object]'],
    [throwsOnTouch, '[object Object]'],
  ]
  for (const [value, message] of oddities) {
    it(`F2/S3: a thrown ${typeof value} reads "${message}"`, () => {
      expect(classify(value)).toMatchObject({
        name: 'NonError',
        message,
        retryable: true,
        category: 'unknown',
      })
    })
  }
})
