import { describe, expect, it } from 'vitest'
import type { GateCheck } from '../api/types.ts'
import { checkedLetters, gateResult, whoAnswered } from './gate-words.ts'

const saidAt = '2026-01-01T00:00:00.000Z'
const check = (answer: GateCheck['answer'], letters = 3): GateCheck => ({
  ...{ gate: 'schema', channel: 'orders', handler: 'bill', letters, answer },
})
const NOBODY = check({ answeredBy: 'nobody', reason: 'no living process consumes orders/bill' })
const PLANNER = check({ answeredBy: 'planner', saidAt }, 4)

describe('the result of a gate', () => {
  it('K8: never says that a gate blocked nothing when nobody answered for it', () => {
    expect(gateResult(0, 'x', [NOBODY])).toEqual({ text: 'not checked here', isChecked: false })
    expect(gateResult(0, 'x', [NOBODY, PLANNER])).toEqual({ text: '3 not checked here', isChecked: false })
    expect(gateResult(2, 'not valid', [NOBODY])).toEqual({ text: '2 blocked: not valid', isChecked: false })
    expect(gateResult(0, 'x', undefined)).toEqual({ text: 'not checked here', isChecked: false })
    expect(gateResult(0, 'x', [])).toEqual({ text: 'no letter came to this gate', isChecked: false })
  })

  it('K8: says how many a gate blocked that was answered for', () => {
    expect(gateResult(0, 'x', [PLANNER])).toEqual({ text: '0 blocked', isChecked: true })
    expect(gateResult(0, 'x', 'own')).toEqual({ text: '0 blocked', isChecked: true })
    expect(gateResult(2, 'not valid', [PLANNER])).toEqual({ text: '2 blocked: not valid', isChecked: true })
  })
})

it('K8: names the letters of a check, and whose word it is', () => {
  expect(checkedLetters(NOBODY)).toBe('orders/bill, 3 letters')
  expect(checkedLetters({ ...NOBODY, handler: undefined, letters: 1 })).toBe('orders, 1 letter')
  expect(checkedLetters({ ...NOBODY, handler: undefined, sink: 'crm' })).toBe('sink crm, 3 letters')
  expect(whoAnswered({ answeredBy: 'planner', saidAt })).toBe('the process that planned')
  const processes = ['a', 'b', 'c', 'd'].map(id => ({ id, service: 'shop', version: '2.4.1' }))
  expect(whoAnswered({ answeredBy: 'fleet', saidAt, count: 7, processes })).toBe(
    'shop 2.4.1 a, shop 2.4.1 b, shop 2.4.1 c, 4 more',
  )
})
