import fc from 'fast-check'
import { expect, it } from 'vitest'
import { fromCloudEvent, toCloudEvent } from './cloudevents.ts'
import { fromBinaryCloudEvent, toBinaryCloudEvent } from './cloudevents-binary.ts'
import { correlationIdOf } from './correlation-id.ts'
import { createEvent, type EventInput } from './event.ts'

const sources = { now: 1_000, newId: () => 'e1' }
const event = (input: Partial<EventInput>) =>
  createEvent({ type: 'order.paid', channel: 'orders', ...input }, sources)

it('R15: the correlation id is an attribute of the input, and travels as a header', () => {
  const correlated = event({ correlationId: 'request-1', headers: { tenant: 'acme' } })
  expect(correlated.headers).toEqual({ tenant: 'acme', 'correlation-id': 'request-1' })
  expect(correlationIdOf(correlated)).toBe('request-1')
  expect(correlationIdOf(event({}))).toBeUndefined()
  expect(() => event({ correlationId: 7 as never })).toThrow(/correlation-id/)
})

it('R15: a CloudEvent has it as the attribute correlationid, in both modes', () => {
  const correlated = event({ correlationId: 'request-1', source: '/shop' })
  expect(toCloudEvent(correlated)).toMatchObject({ correlationid: 'request-1' })
  expect(toCloudEvent(correlated)).not.toHaveProperty('lazaretheaders')
  expect(toBinaryCloudEvent(correlated).headers).toMatchObject({ 'ce-correlationid': 'request-1' })
})

it('R15: events with any of the three headers survive a CloudEvent', () => {
  const text = fc.string({ minLength: 1, maxLength: 20, unit: 'grapheme-ascii' })
  const headers = fc.record(
    { 'correlation-id': text, 'ce-correlationid': text, 'cejson-correlationid': text },
    { requiredKeys: [] },
  )
  fc.assert(
    fc.property(headers, given => {
      const sent = event({ headers: given, source: '/shop' })
      expect(fromCloudEvent(toCloudEvent(sent), { channel: 'x', occurredAt: 1 })).toEqual(sent)
      const { headers: httpHeaders, body } = toBinaryCloudEvent(sent)
      expect(fromBinaryCloudEvent({ headers: httpHeaders, body }, { channel: 'x', occurredAt: 1 })).toEqual(
        sent,
      )
    }),
  )
})
