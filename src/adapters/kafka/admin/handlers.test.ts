import { describe, expect, it } from 'vitest'
import { resolveKafka } from '../options.ts'
import { findHandlers } from './handlers.ts'

const DEFAULTS = resolveKafka({ brokers: ['kafka:9092'] })

describe('the handlers of a cluster', () => {
  it('F8: are found by the names of their topics, each with its channel', () => {
    const names = [
      'orders',
      'orders.eu',
      'orders.bill.dlq',
      'orders.bill.retry.0s',
      'orders.eu.bill.retry.1500ms',
      'orders.eu.ship.held',
      'orders.send_20_it.dlq',
      'orders.us.bill.dlq',
      'others.dlq',
      '__consumer_offsets',
    ]
    expect(findHandlers(names, DEFAULTS)).toEqual([
      { channel: 'orders', handler: 'bill', group: 'orders.bill' },
      { channel: 'orders.eu', handler: 'bill', group: 'orders.eu.bill' },
      { channel: 'orders.eu', handler: 'ship', group: 'orders.eu.ship' },
      { channel: 'orders', handler: 'send it', group: 'orders.send_20_it' },
    ])
  })

  it('F8: are found by other names too', () => {
    const settings = resolveKafka({
      brokers: ['kafka:9092'],
      topic: 'shop.{channel}',
      group: 'svc-{handler}-{channel}',
      deadLetterTopic: 'failed.{group}',
    })
    const names = ['shop.orders', 'failed.svc-bill-orders', 'failed.svc-bill-parcels']
    expect(findHandlers(names, settings)).toEqual([
      { channel: 'orders', handler: 'bill', group: 'svc-bill-orders' },
    ])
  })
})
