import { describe, expect, it } from 'vitest'
import { type PagerdutyReceiver, pagerdutyReceiver } from '../../../../test/receivers/pagerduty.ts'
import { alertEvent } from '../../../../test/support/alerts.ts'
import { failureOf, make, never, withReceiver } from '../../../../test/support/sinks.ts'
import { classify } from '../../../core/failure/classify.ts'
import { sinkConformance } from '../../../testing/conformance/sink.ts'
import { pagerduty } from './pagerduty.ts'

const sinkFor = ({ enqueue: url, routingKey }: PagerdutyReceiver) =>
  pagerduty({ url, routingKey, source: 'shop-1' })

describe('pagerduty sink', () => {
  sinkConformance({
    test: it,
    declares: { setFailing: true, hang: true, refuse: false },
    // A request for each.
    many: 100,
    setup: async () => {
      const receiver = await pagerdutyReceiver()
      return {
        sink: sinkFor(receiver),
        received: async () => receiver.events.map(event => String(event['dedup_key'])),
        setFailing: isFailing => receiver.misbehave(isFailing ? { status: 500 } : undefined),
        hang: () => receiver.misbehave('hang'),
        cleanup: receiver.close,
      }
    },
  })

  it('S7: an alert is triggered, told again and resolved under one key: one alert, open and then not', async () => {
    await withReceiver(pagerdutyReceiver(), async (receiver, open) => {
      const sink = open(sinkFor(receiver))
      await sink.write([alertEvent()], never())
      await sink.write([alertEvent({ status: 'update', count: 41, newCount: 40 })], never())
      expect(receiver.alerts).toMatchObject([{ isOpen: true, triggers: 2 }])
      await sink.write([alertEvent({ status: 'resolved' })], never())
      expect(receiver.alerts).toMatchObject([{ isOpen: false, triggers: 2 }])
      expect(receiver.events[0]).toMatchObject({
        event_action: 'trigger',
        dedup_key: 'shop/dead_letter/orders/billing/0123456789abcdef',
        links: [{ href: 'https://lazaret.example/letters/letter-1', text: 'Letter' }],
        payload: {
          summary: 'Dead letters in orders: Error: connect ECONNREFUSED',
          source: 'shop',
          severity: 'error',
          component: 'billing',
          group: 'orders',
          class: 'dead_letter',
          custom_details: { Event: 'e-1', Type: 'order.placed', Attempts: '3', Target: 'billing', Count: 1 },
        },
      })
    })
  })

  it('S7: any other event triggers one of its own, within the limits', async () => {
    await withReceiver(pagerdutyReceiver(), async (receiver, open) => {
      const sink = open(sinkFor(receiver))
      const event = make.event({
        id: 'x'.repeat(255),
        headers: { severity: 'fatal' },
        payload: { message: 'm'.repeat(5_000), card: '4111' },
      })
      await sink.write([event, alertEvent({ key: 'k'.repeat(300) })], never())
      expect(receiver.alerts).toMatchObject([
        { payload: { severity: 'critical', source: 'shop-1', class: 'order.placed' } },
        { isOpen: true },
      ])
      expect(JSON.stringify(receiver.events[0])).not.toContain('4111')
    })
  })

  it('E2, B1: 400 is for good, 429 for as long as it says, and the key is in neither', async () => {
    await withReceiver(pagerdutyReceiver(), async (receiver, open) => {
      const wrong = 'Rwrong6789abcdefghijklmnopqrstuv'
      const sink = open(pagerduty({ url: receiver.enqueue, routingKey: wrong }))
      const refused = await failureOf(sink.write([make.event()], never()))
      expect(classify(refused)).toMatchObject({ retryable: false, category: 'schema' })
      expect(refused.message).toContain('Invalid routing key ***')
      receiver.misbehaveNext({ status: 429, headers: { 'retry-after': '120' } })
      const limited = await failureOf(sink.write([make.event()], never()))
      expect(classify(limited)).toMatchObject({ retryable: true, retryAfterMs: 120_000 })
      expect(JSON.stringify([refused, refused.stack, limited])).not.toContain(wrong)
    })
  })

  it('F7: a key of another length is refused without being shown', () => {
    expect(() => pagerduty({ routingKey: 'hunter2' })).toThrow(/a value that is not shown; give the 32/)
  })
})
