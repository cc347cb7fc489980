import { describe, expect, it } from 'vitest'
import { createFactory } from '../../testing/factories.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { shownFields } from './fields.ts'
import { createMasks } from './masks.ts'
import { meetsAll, parseWhere } from './where.ts'

const { letter, event } = createFactory({ clock: new FakeClock() })
const LETTER = letter({
  event: event({
    payload: { customer: { id: 7, 'vip.level': 'x' }, items: [{ sku: 'a' }, { sku: 'b' }], none: {} },
    headers: { 'x-tenant': 'acme', authorization: 'Bearer abcdef' },
  }),
  metadata: { region: 'eu', flag: true },
})
const masks = createMasks()

describe('shownFields', () => {
  it('F8: gives every field its path and its values as JSON, masked', () => {
    expect(Object.fromEntries(shownFields(LETTER, masks, { entries: 'apart' }))).toEqual({
      'payload.customer.id': ['7'],
      'payload.customer."vip.level"': ['"x"'],
      'payload.items.0.sku': ['"a"'],
      'payload.items.1.sku': ['"b"'],
      'payload.none': ['{}'],
      'header.x-tenant': ['"acme"'],
      'header.authorization': ['"***"'],
      'metadata.region': ['"eu"'],
      'metadata.flag': ['true'],
    })
  })

  it('F8: takes the entries of an array together, as conditions do', () => {
    const fields = shownFields(LETTER, masks, { entries: 'together' })
    expect(fields.get('payload.items.sku')).toEqual(['"a"', '"b"'])
  })

  it('F8: its paths can be typed as conditions', () => {
    for (const [path, values] of shownFields(LETTER, createMasks({ defaults: false }), {
      entries: 'together',
    }))
      for (const value of values.filter(each => each !== '{}'))
        expect(meetsAll(LETTER, parseWhere(`${path} = ${value}`)!), path).toBe(true)
  })

  it('F8: a payload with very many fields is cut', () => {
    const payload = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`f${index}`, index]))
    expect(shownFields({ event: event({ payload }) }, masks, { entries: 'apart' }).size).toBe(1_000)
  })
})
