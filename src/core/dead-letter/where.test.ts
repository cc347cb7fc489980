import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createFactory } from '../../testing/factories.ts'
import { meetsAll, parseWhere, whereRemedy } from './where.ts'

const make = createFactory()
const letter = make.letter({
  event: make.event({
    headers: { 'X-Tenant.Id': 'acme' },
    payload: {
      customer: { id: 7, 'first name': 'Ada' },
      paid: false,
      note: null,
      empty: '',
      items: [{ sku: 'A-1', sizes: [1, 2] }, { sku: 'B-2' }],
    },
  }),
  metadata: { team: 'billing' },
})
const meets = (text: string) => meetsAll(letter, parseWhere(text)!)

describe('conditions on fields', () => {
  it.each([
    'payload.customer.id = 7',
    'payload.customer.id=7.0',
    '  payload.customer."first name"  =  Ada  ',
    'payload.customer.id != 8 AND payload.paid = false',
    'payload.note = null',
    'payload.empty = ""',
    'payload.items.sku = B-2',
    'payload.items.0.sku = A-1',
    'payload.items.sizes = 2',
    'payload.items.sku ~ b-',
    'payload.missing != anything',
    'header.x-tenant.id = acme',
    'metadata.team ~ BILL',
  ])('E9: %s selects', text => {
    expect(meets(text)).toBe(true)
  })

  it.each([
    'payload.customer.id = 70',
    'payload.customer = 7',
    'payload.items.1.sku = A-1',
    'payload.customer.id = 7 and header.tenant = acme',
    'payload.constructor.name ~ o',
    'payload.items.length = 2',
    'metadata.team = BILLING',
  ])('E9: %s leaves out', text => {
    expect(meets(text)).toBe(false)
  })

  it.each([
    '',
    'payload = 1',
    'body.id = 1',
    'payload.id',
    'payload.id =',
    'payload.id = 1 and',
    'payload.id = 1 and ',
    'payload.id > 1',
    'payload.id = "a',
    'payload.id = "a" b',
    'payload..id = 1',
    'payload.id !== 1',
    'payload.id == 1',
    "payload.id != '1'",
    'payload.id != 1 or payload.id = 2',
    'payload.id != 1 && header.tenant = acme',
    Array.from({ length: 11 }, () => 'payload.a = 1').join(' and '),
  ])('E9: %j is not a list of conditions', text => {
    expect(parseWhere(text)).toBeUndefined()
  })

  it('E9: quotes carry every name and value, alone and joined', () => {
    const condition = fc.record({ name: fc.string({ minLength: 1 }), value: fc.string() })
    fc.assert(
      fc.property(fc.array(condition, { minLength: 1, maxLength: 5 }), conditions => {
        const text = conditions
          .map(({ name, value }) => `payload.${JSON.stringify(name)} = ${JSON.stringify(value)}`)
          .join(' and ')
        expect(parseWhere(text)).toEqual(
          conditions.map(({ name, value }) => ({
            root: 'payload',
            steps: [name],
            operator: '=',
            wanted: value,
          })),
        )
      }),
    )
  })

  it('E9: reads a hostile text in linear time', () => {
    const text = `payload.a = ${' x'.repeat(400)}`
    const long = `payload.a = ${'x and '.repeat(160)}`
    expect(parseWhere(text)).toHaveLength(1)
    expect(parseWhere(long)).toBeUndefined()
  })
})

it('F8: conditions that are too long and those that cannot be read have different remedies', () => {
  expect(whereRemedy(`payload.id = "${'x'.repeat(1_000)}"`)).toContain('at most 1000 characters')
  expect(whereRemedy('customer = 7')).toContain('such as')
  expect(whereRemedy('payload.id = 7')).toBeUndefined()
})
