import { expect, it } from 'vitest'
import { resolveKafka } from '../../options.ts'
import { handlerOf, handlerTopics, isAgainTopic, retryTopicFor } from './names.ts'

const settings = resolveKafka({ brokers: ['kafka:9092'] })
const topics = handlerTopics(settings, 'orders', 'bill')

it('E21: everything of a handler is named after its channel and itself', () => {
  expect([topics.channel, topics.group, topics.again, topics.letters, topics.held]).toEqual([
    'orders',
    'orders.bill',
    'orders.bill.retry.0s',
    'orders.bill.dlq',
    'orders.bill.held',
  ])
  expect(topics.retries.map(({ name }) => name)).toEqual(
    ['5s', '1m', '10m', '1h'].map(delay => `orders.bill.retry.${delay}`),
  )
  expect(handlerTopics(settings, 'orders', 'send e-mail!').group).toBe('orders.send_20_e-mail_21_')
})

it('E21: two handlers of two channels never share a group', () => {
  const groups = [
    ['orders', 'eu.bill'],
    ['orders.eu', 'bill'],
  ].map(([channel, handler]) => handlerTopics(settings, channel!, handler!).group)
  expect(groups).toEqual(['orders.eu_2e_bill', 'orders.eu.bill'])
})

it('F8: the name of a handler can be read from its group', () => {
  for (const handler of ['bill', 'eu.bill', 'send e-mail!', 'send_ad_mail', 'a_41_b', '_'])
    expect(handlerOf(handlerTopics(settings, 'orders', handler).group.slice('orders.'.length))).toBe(handler)
})

it('B3: a wait goes to the longest delay that is not longer, and a short one waits in the consumer', () => {
  const steps = [0, 4_999, 5_000, 59_999, 700_000, 90_000_000].map(waitMs => retryTopicFor(topics, waitMs))
  expect(steps.map(name => name.split('.').at(-1))).toEqual(['0s', '0s', '5s', '5s', '10m', '1h'])
})

it('B9: unblocking a key reaches the handlers of its channel only', () => {
  const all = [
    'orders.bill.retry.0s',
    'orders.retry.0s',
    'orders.bill.retry.5s',
    'orders.eu.bill.retry.0s',
    'other.bill.retry.0s',
    'orders',
  ]
  expect(all.filter(name => isAgainTopic(settings, 'orders', name))).toEqual(['orders.bill.retry.0s'])
})
