import fc from 'fast-check'
import { expect, it } from 'vitest'
import { eventSubject, fromToken, namesOf, streamName, streamsOf, subjectsOf, toToken } from './names.ts'

it('the streams of a channel have names in capitals, without dots', () => {
  expect(streamsOf('orders.eu')).toEqual({
    events: 'ORDERS_EU',
    retries: 'LAZARET_RETRY_ORDERS_EU',
    state: 'LAZARET_STATE_ORDERS_EU',
    letters: 'LAZARET_DLQ_ORDERS_EU',
  })
  expect(subjectsOf('orders').events).toBe('orders.>')
})

it('F3: channels that differ in capitals have streams that differ', () => {
  expect(streamName('Orders')).not.toBe(streamName('orders'))
})

it('an event is published under its type, and a type that is not a subject is one token', () => {
  expect(eventSubject('orders', 'order.placed')).toBe('orders.order.placed')
  expect(eventSubject('orders', 'order..placed')).toBe('orders.order=2e=2eplaced')
  expect(eventSubject('orders', 'a b.>')).toBe('orders.a=20b.=3e')
})

it('F3: two handlers never share a consumer, and its name has only characters that the server takes', () => {
  const handlers = fc.string({ unit: 'grapheme', minLength: 1, maxLength: 20 })
  fc.assert(
    fc.property(handlers, handlers, (one, other) => {
      expect(fromToken(toToken(one))).toBe(one.toWellFormed())
      expect(toToken(one)).toMatch(/^[A-Za-z0-9_=-]+$/)
      expect(toToken(one) === toToken(other)).toBe(one.toWellFormed() === other.toWellFormed())
    }),
    { seed: 23, numRuns: 300 },
  )
  expect(namesOf('orders', 'bill').consumer).toBe('bill')
})
