import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { JsonValue, LazaretEvent } from '../event/event.ts'
import type { Failure } from '../failure/failure.ts'
import { createLetter, summariseFailure } from './create.ts'
import { LetterError } from './errors.ts'
import { decodeLetter, encodeLetter, letterFromJson, letterToJson } from './json.ts'
import { mergeLetter } from './merge.ts'
import { REASONS, type Reason } from './reason.ts'

const failure: Failure = {
  name: 'TypeError',
  message: 'no total',
  code: undefined,
  category: 'business',
  retryable: false,
  decidedBy: 'error-itself',
  retryAfterMs: undefined,
  fingerprint: { id: 'f1', rule: 'message', version: 1, basis: 'TypeError no total' },
}
const event: LazaretEvent = {
  v: 1,
  id: 'e1',
  type: 't',
  channel: 'c',
  key: undefined,
  idempotencyKey: 'e1',
  occurredAt: 1,
  expiresAt: undefined,
  source: undefined,
  headers: {},
  payload: null,
}
const attempts = [
  { number: 1, startedAt: 1, endedAt: undefined, failure: summariseFailure(failure), delayMs: undefined },
]
const LETTER = createLetter({ event, handler: 'h', reason: 'permanent', at: 5, failure, attempts })
const anyJson = fc.jsonValue() as fc.Arbitrary<JsonValue>
const odd = fc.constantFrom('__proto__', 'constructor', 'a', '')
const json = (value: unknown): unknown => JSON.parse(JSON.stringify(value))

function faultsOf(run: () => unknown): readonly string[] {
  try {
    run()
  } catch (error) {
    expect(error).toBeInstanceOf(LetterError)
    return (error as LetterError).faults.map(fault => fault.path)
  }
  return []
}

describe('the stored form of a dead letter', () => {
  it("R2, K9: 'never' is written, a letter of an earlier version has neither, and nonsense is refused", () => {
    const never = createLetter({ event, handler: 'h', reason: 'permanent', at: 5, expiresAfterMs: 'never' })
    expect(json(letterToJson(never))).toMatchObject({ expiresAfterMs: 'never' })
    expect(decodeLetter(encodeLetter(never)).expiresAfterMs).toBe('never')
    expect(decodeLetter(encodeLetter(LETTER)).expiresAfterMs).toBeUndefined()
    const wrong = { ...(json(letterToJson(never)) as object), expiresAfterMs: 'soon' }
    expect(faultsOf(() => letterFromJson(wrong))).toEqual(['letter.expiresAfterMs'])
  })

  it('P2: comes back as it was', () => {
    const letter = fc
      .record({
        reason: fc.constantFrom(...(Object.keys(REASONS) as Reason[])),
        at: fc.nat(),
        replay: fc.nat(5),
        failure: fc.option(fc.constant(failure), { nil: undefined }),
        attempts: fc.constantFrom([], attempts),
        payload: fc.oneof(fc.jsonValue(), fc.uint8Array()),
        detail: fc.option(fc.dictionary(odd, anyJson, { noNullPrototype: true }), { nil: undefined }),
        origin: fc.dictionary(odd, fc.oneof(fc.string(), fc.integer()), { noNullPrototype: true }),
        expiresAt: fc.option(fc.nat(), { nil: undefined }),
        job: fc.option(fc.string(), { nil: undefined }),
      })
      .map(({ payload, ...input }) => createLetter({ event: { ...event, payload }, handler: 'h', ...input }))
    fc.assert(
      fc.property(letter, letter, (first, second) => {
        const merged = mergeLetter(first, second)
        const { payload } = merged.event
        const plain = payload instanceof Uint8Array ? payload : json(payload)
        const expected = {
          ...merged,
          event: { ...merged.event, payload: plain },
          detail: merged.detail && json(merged.detail),
        }
        return isDeepStrictEqual(decodeLetter(encodeLetter(merged)), expected)
      }),
      { numRuns: 300 },
    )
  })

  it('P2: names that would be prototypes stay names', () => {
    const stored = JSON.parse(encodeLetter(LETTER).replace('"origin":{}', '"origin":{"__proto__":"x"}'))
    const { origin } = letterFromJson(stored)
    expect(Object.keys(origin)).toEqual(['__proto__'])
    expect(Object.getPrototypeOf(origin)).toBe(Object.prototype)
  })

  it('P2: a newer version is refused with the remedy; fields to come are left out', () => {
    expect(faultsOf(() => letterFromJson({ ...letterToJson(LETTER), v: 2 }))).toEqual(['letter.v'])
    expect(faultsOf(() => letterFromJson({ ...letterToJson(LETTER), event: { ...event, v: 2 } }))).toEqual([
      'letter.event.v',
    ])
    expect(letterFromJson({ ...letterToJson(LETTER), owner: 'ann' })).toStrictEqual(LETTER)
  })

  it('P2: reasons and categories to come are readable, states are not', () => {
    const cycle = { ...LETTER.cycle, reason: 'solar_flare', category: 'cosmic' }
    const read = letterFromJson({ ...letterToJson(LETTER), cycle })
    expect(read.cycle).toMatchObject({ reason: 'solar_flare', category: 'unknown' })
    expect(faultsOf(() => letterFromJson({ ...letterToJson(LETTER), state: 'frozen' }))).toEqual([
      'letter.state',
    ])
  })

  it('P2: everything that is wrong is told at once', () => {
    const wrong = {
      v: 1,
      id: 1,
      event,
      origin: { a: {} },
      state: 'dead',
      cycle: { attempts: [{}] },
      endedCycles: 7,
    }
    expect(faultsOf(() => letterFromJson(wrong))).toEqual([
      'letter.id',
      'letter.channel',
      'letter.handler',
      'letter.origin.a',
      'letter.cycle.number',
      'letter.cycle.reason',
      'letter.cycle.category',
      'letter.cycle.attempts[0].number',
      'letter.cycle.attempts[0].startedAt',
      'letter.cycle.attemptCount',
      'letter.cycle.firstFailedAt',
      'letter.cycle.lastFailedAt',
      'letter.endedCycles',
      'letter.droppedCycles',
      'letter.replays',
      'letter.createdAt',
      'letter.updatedAt',
    ])
  })

  it('P2: whatever the text, decoding gives a letter or a LetterError', () => {
    const text = fc.oneof(
      fc.string(),
      fc.json(),
      fc.json().map(each => `{"v":1,"event":${each},"cycle":${each}}`),
    )
    fc.assert(
      fc.property(text, each => void expect(faultsOf(() => decodeLetter(each)).length).toBeGreaterThan(0)),
    )
  })
})
