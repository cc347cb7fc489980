import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { LazaretEvent } from '../event/event.ts'
import { createSaveFilter, type FilterSubject, limitOf, type SavePattern } from './filter.ts'
import { REASONS, type Reason } from './reason.ts'

const event: LazaretEvent = {
  v: 1,
  id: 'e1',
  type: 'payment.failed',
  channel: 'c',
  idempotencyKey: 'e1',
  occurredAt: 1,
  headers: {},
  payload: { amount: 5 },
}
const subject: FilterSubject = {
  name: event.type,
  payload: event.payload,
  error: new Error('no'),
  failure: undefined,
  handler: 'loki',
  retryCount: 3,
  event,
  reason: 'attempts_exhausted',
  limit: undefined,
}
const boom = () => {
  throw new Error('boom')
}

/** Patterns by what they say of the subject: yes, no, or nothing because they are broken. */
const PATTERNS: Record<'yes' | 'no' | 'broken', readonly SavePattern[]> = {
  yes: [
    'payment.failed',
    'payment.*',
    '*',
    /^payment\./,
    /failed$/g,
    /payment/y,
    () => true,
    s => s.retryCount === 3,
    s => s.reason === 'attempts_exhausted',
  ],
  no: [
    'payment',
    'refund.*',
    /^failed/,
    /failed/y,
    () => false,
    s => s.handler === 'sentry',
    s => s.limit === 'rateLimit',
  ],
  broken: [boom, (() => Promise.resolve(true)) as never, (() => undefined) as never, (() => 1) as never],
}
const kind = fc.constantFrom('yes' as const, 'no' as const, 'broken' as const)
const kinds = fc.array(fc.tuple(kind, fc.nat()), { maxLength: 4 })
const patternsOf = (chosen: readonly (readonly [keyof typeof PATTERNS, number])[]) =>
  chosen.map(([which, index]) => PATTERNS[which][index % PATTERNS[which].length]!)
const has = (chosen: readonly (readonly [string, number])[], which: string) =>
  chosen.some(([each]) => each === which)

describe('the filter in front of the dead letters', () => {
  it('E12: never beats always beats saveIf beats the default, and a broken function never loses a letter', () => {
    fc.assert(
      fc.property(kinds, kinds, fc.option(kind, { nil: undefined }), (never, always, saveIf) => {
        const test = saveIf && { yes: () => true, no: () => false, broken: boom }[saveIf]
        const filter = createSaveFilter({
          never: patternsOf(never),
          always: patternsOf(always),
          saveIf: test,
        })
        const expected = has(never, 'yes')
          ? { save: false, rule: 'never' }
          : has(always, 'yes')
            ? { save: true, rule: 'always' }
            : has(never, 'broken') || has(always, 'broken') || saveIf === 'broken'
              ? { save: true, rule: 'broken' }
              : saveIf
                ? { save: saveIf === 'yes', rule: 'saveIf' }
                : { save: true, rule: 'default' }
        expect(filter(subject)).toEqual(expected)
        expect(filter(subject)).toEqual(expected)
      }),
      { numRuns: 1_000 },
    )
  })

  it('R9: every reason that a limit gives names its option, and no other reason does', () => {
    const limited = (Object.keys(REASONS) as Reason[]).map(reason => [reason, limitOf(reason)] as const)
    expect(limited.filter(([, limit]) => limit !== undefined)).toEqual([
      ['rate_limited', 'rateLimit'],
      ['retry_limited', 'retryLimit'],
      ['retry_budget', 'budget'],
    ])
  })

  it('E12: the function sees name, payload, error, handler, retry count, event, reason and limit', () => {
    const seen: FilterSubject[] = []
    createSaveFilter({ saveIf: each => seen.push(each) > 0 })(subject)
    expect(seen).toEqual([subject])
  })

  it('E12: a string matches the whole name, * any run of characters', () => {
    const saves = (pattern: string, name: string) =>
      !createSaveFilter({ never: [pattern] })({ ...subject, name }).save
    expect(saves('a.*.c', 'a.b.b.c')).toBe(true)
    expect(saves('a.*.c', 'a.c')).toBe(false)
    expect(saves('*.c', 'a.b.c')).toBe(true)
    expect(saves('a', 'ab')).toBe(false)
    expect(saves('A.*', 'a.b')).toBe(false)
  })

  it('E12: an observer gets the error of a broken function, and cannot lose the letter either', () => {
    const told: unknown[] = []
    const filter = createSaveFilter({ never: [boom], saveIf: () => false }, (rule, error) => {
      told.push([rule, (error as Error).message])
      throw new Error('the watcher is broken too')
    })
    expect(filter(subject)).toEqual({ save: true, rule: 'broken' })
    expect(told).toEqual([['never', 'boom']])
  })

  it('F7: an invalid pattern is refused when the filter is created', () => {
    const wrong = { never: [1, ''], always: 'payment.*', saveif: boom } as never
    expect(() => createSaveFilter(wrong)).toThrow(/never\[0\][\s\S]*never\[1\][\s\S]*always/)
    expect(createSaveFilter()(subject)).toEqual({ save: true, rule: 'default' })
  })
})
