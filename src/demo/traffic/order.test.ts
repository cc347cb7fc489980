import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { maskForDisplay } from '../../core/dead-letter/mask.ts'
import { DEFAULT_MASKS } from '../../core/dead-letter/masks.ts'
import { OrderPlaced } from '../shop/contracts.ts'
import { type Flaw, orderEvent } from './order.ts'

const FLAWS: readonly Flaw[] = [
  'impossible-date',
  'wrong-shape',
  'bad-address',
  'unknown-article',
  'unroutable',
  'declined',
  'none',
]
const AT = 1_767_225_600_000
const anyOrder = fc.record({
  seed: fc.nat(100_000),
  number: fc.integer({ min: -10_000, max: 50_000 }),
  flaw: fc.option(fc.constantFrom(...FLAWS), { nil: undefined }),
})

describe('an order of the demo', () => {
  it('depends only on its seed and number', () => {
    fc.assert(
      fc.property(anyOrder, asked => {
        expect(orderEvent({ ...asked, at: AT })).toEqual(orderEvent({ ...asked, at: AT }))
      }),
    )
  })

  it('matches its schema, unless its flaw is in the schema', () => {
    fc.assert(
      fc.property(anyOrder, asked => {
        const { payload } = orderEvent({ ...asked, flaw: asked.flaw ?? 'none', at: AT })
        expect(OrderPlaced.safeParse(payload).success).toBe(asked.flaw !== 'wrong-shape')
      }),
    )
  })

  it('shows no card, token, address, name, phone or street under the default masks', () => {
    fc.assert(
      fc.property(anyOrder, asked => {
        const event = orderEvent({ ...asked, at: AT })
        const { card, wallet } = event.payload.paidWith
        const shown = JSON.stringify(maskForDisplay(event, DEFAULT_MASKS))
        const { customer } = event.payload
        const secrets = [card?.cardNumber, wallet?.token, customer.email, customer.name, customer.phone]
        for (const secret of secrets) if (secret !== undefined) expect(shown).not.toContain(secret)
      }),
    )
  })
})
