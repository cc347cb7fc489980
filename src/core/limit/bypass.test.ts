import { describe, expect, it } from 'vitest'
import type { LazaretEvent } from '../event/event.ts'
import { resolveBy } from '../options/resolve.ts'
import { type BypassOptions, bypassesLimit, bypassRule } from './bypass.ts'

const event: LazaretEvent = {
  v: 1,
  id: '1',
  type: 'any',
  channel: 'orders',
  idempotencyKey: '1',
  occurredAt: 0,
  headers: {},
  payload: null,
}

function bypasses(options: BypassOptions, type: string, severity?: string, payload: unknown = null): boolean {
  const policy = resolveBy('bypass', bypassRule, options)
  return bypassesLimit(policy, { type, severity, event: { ...event, payload } })
}

describe('bypass of the rate limit', () => {
  it('E15: errors and fatal ones pass by default, others do not', () => {
    expect(bypasses({}, 'any', 'error')).toBe(true)
    expect(bypasses({}, 'any', 'fatal')).toBe(true)
    expect(bypasses({}, 'any', 'warn')).toBe(false)
    expect(bypasses({}, 'any')).toBe(false)
    expect(bypasses({ severities: [] }, 'any', 'error')).toBe(false)
  })

  it('E15: a name pattern lets its events pass, call after call', () => {
    const options = { types: ['payment.*', /^audit\./g] }
    const policy = resolveBy('bypass', bypassRule, options)
    const ask = (type: string) => bypassesLimit(policy, { type, severity: undefined, event })
    expect([ask('payment.done'), ask('audit.login'), ask('audit.login'), ask('audit.login')]).toEqual([
      true,
      true,
      true,
      true,
    ])
    expect(ask('repayment.done')).toBe(false)
  })

  it('E15: a function sees the whole event: authenticated payments over 10 000', () => {
    const when = ({ payload }: LazaretEvent) => {
      const payment = payload as { authenticated: boolean; amount: number }
      return payment.authenticated && payment.amount > 10_000
    }
    const pay = (authenticated: boolean, amount: number) =>
      bypasses({ when }, 'payment', 'info', { authenticated, amount })
    expect([pay(true, 10_001), pay(true, 10_000), pay(false, 10_001)]).toEqual([true, false, false])
  })

  it('E15: a function that throws, or answers with a promise, has not said yes', () => {
    const throwing = () => {
      throw new Error('no payload')
    }
    expect(bypasses({ when: throwing }, 'any', 'info')).toBe(false)
    expect(bypasses({ when: (async () => true) as never }, 'any', 'info')).toBe(false)
  })
})
