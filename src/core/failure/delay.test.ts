import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { classify } from './classify.ts'
import { parseRetryAfter } from './delay.ts'

const NOW = Date.UTC(2026, 4, 1, 12, 0, 0)

function delayOf(properties: object, now: number | undefined = NOW): number | undefined {
  return classify(Object.assign(new Error('slow down'), { status: 429, ...properties }), { now }).retryAfterMs
}

describe('the delay an error names', () => {
  it('B1: Retry-After is found wherever clients keep the headers', () => {
    expect(delayOf({ headers: { 'retry-after': '7' } })).toBe(7_000)
    expect(delayOf({ headers: { 'Retry-After': 7 } })).toBe(7_000)
    expect(delayOf({ headers: new Headers({ 'Retry-After': '7' }) })).toBe(7_000)
    expect(delayOf({ headers: new Map([['retry-after', ['7']]]) })).toBe(7_000)
    expect(delayOf({ response: { headers: { 'retry-after': '7' } } })).toBe(7_000)
    expect(delayOf({ response: new Response(null, { headers: { 'retry-after': '7' } }) })).toBe(7_000)
    expect(delayOf({})).toBeUndefined()
  })

  it('B1: it is heard through wrappers, and with a rule that names no delay', () => {
    const cause = Object.assign(new Error('x'), { status: 503, headers: { 'retry-after': '2' } })
    const rules = [{ when: 'Error', retryable: true }]
    expect(classify(new Error('wrapper', { cause }), { rules }).retryAfterMs).toBe(2_000)
    expect(classify(cause, { rules: [{ ...rules[0]!, retryAfterMs: 9 }] }).retryAfterMs).toBe(9)
  })

  it('B1: a failure that is given up on names no delay', () => {
    expect(delayOf({ status: 400, headers: { 'retry-after': '7' } })).toBeUndefined()
  })

  it('B1: seconds of any size, and HTTP dates seen from now', () => {
    fc.assert(
      fc.property(fc.nat(1_000_000_000), seconds => {
        expect(parseRetryAfter(String(seconds), undefined)).toBe(seconds * 1_000)
      }),
    )
    const date = fc.integer({ min: 0, max: 4_000_000_000 }).map(seconds => seconds * 1_000)
    fc.assert(
      fc.property(date, date, (at, now) => {
        expect(parseRetryAfter(new Date(at).toUTCString(), now)).toBe(Math.max(0, at - now))
      }),
    )
    expect(parseRetryAfter('Fri, 01 May 2026 12:00:30 GMT', undefined)).toBeUndefined()
  })

  it('B1: anything else in the header counts as not given', () => {
    for (const header of ['', 'soon', '-5', '1e9', 'Infinity', '2026-05-01', '12345678901', 'x GMT', '0x10'])
      expect(parseRetryAfter(header, NOW)).toBeUndefined()
    fc.assert(
      fc.property(fc.string(), header => {
        expect(parseRetryAfter(header, NOW) ?? 0).toBeGreaterThanOrEqual(0)
      }),
    )
  })

  it('B1: our own refusals say when to come back', () => {
    const refusal = (retryAt: unknown) => ({ code: 'LAZARET_BREAKER_OPEN', retryable: true, retryAt })
    expect(classify(refusal(NOW + 400), { now: NOW }).retryAfterMs).toBe(400)
    expect(classify(refusal(NOW - 400), { now: NOW }).retryAfterMs).toBe(0)
    expect(classify(refusal(NOW + 400)).retryAfterMs).toBeUndefined()
    expect(classify(refusal(Number.POSITIVE_INFINITY), { now: NOW }).retryAfterMs).toBeUndefined()
  })
})
