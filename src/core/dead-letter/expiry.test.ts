import { describe, expect, it } from 'vitest'
import type { OptionsError } from '../options/faults.ts'
import { resolveBy } from '../options/resolve.ts'
import { type LetterExpiryOptions, letterExpiryRule } from './expiry.ts'
import type { TimeToLive } from './time-to-live.ts'

const DAY_MS = 86_400_000
const expiry = (option?: TimeToLive | LetterExpiryOptions) => resolveBy('expiry', letterExpiryRule, option)

function faultsOf(option: unknown): readonly string[] {
  try {
    resolveBy('expiry', letterExpiryRule, option)
    return []
  } catch (error) {
    return (error as OptionsError).faults.map(({ path }) => path)
  }
}

describe('the option expiresAfterMs', () => {
  it("K9: is 'never' where nobody sets it, also in the parts that an object leaves out", () => {
    expect(expiry()('orders', 'permanent')).toBe('never')
    expect(expiry({})('orders', 'permanent')).toBe('never')
    expect(expiry({ byReason: { expired: DAY_MS } })('orders', 'permanent')).toBe('never')
  })

  it('R2: is one time for all, or a time by reason', () => {
    expect(expiry(DAY_MS)('orders', 'permanent')).toBe(DAY_MS)
    const byReason = expiry({ default: 30 * DAY_MS, byReason: { expired: DAY_MS, poison: 'never' } })
    expect(byReason('orders', 'permanent')).toBe(30 * DAY_MS)
    expect(byReason('orders', 'expired')).toBe(DAY_MS)
    expect(byReason('orders', 'poison')).toBe('never')
  })

  it('R2: the rule of a channel counts before the rule of all channels', () => {
    const of = expiry({
      default: DAY_MS,
      byReason: { expired: 1 },
      byChannel: {
        payments: 'never',
        mails: { byReason: { rate_limited: 2 } },
        constructor: { default: 3, byReason: { expired: 4 } },
      },
    })
    expect([of('payments', 'expired'), of('payments', 'permanent')]).toEqual(['never', 'never'])
    expect([of('mails', 'rate_limited'), of('mails', 'expired'), of('mails', 'poison')]).toEqual([
      2,
      1,
      DAY_MS,
    ])
    expect([of('constructor', 'expired'), of('constructor', 'poison')]).toEqual([4, 3])
    expect([of('toString', 'expired'), of('orders', 'poison')]).toEqual([1, DAY_MS])
  })

  it('F7: reports every fault at once, with its place', () => {
    expect(faultsOf(0)).toEqual(['expiry'])
    expect(faultsOf('soon')).toEqual(['expiry'])
    expect(
      faultsOf({ default: -1, byReason: { expird: 5, schema: 'x' }, byChannel: { a: { byReason: 3 } } }),
    ).toEqual([
      'expiry.default',
      'expiry.byReason.schema',
      'expiry.byReason.expird',
      'expiry.byChannel.a.byReason',
    ])
    expect(faultsOf({ byReasons: {} })).toEqual(['expiry.byReasons'])
  })
})
