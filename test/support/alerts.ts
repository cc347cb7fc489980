import { ALERT_EVENT_TYPE, type AlertDocument } from '../../src/core/alert/document.ts'
import type { LazaretEvent } from '../../src/core/event/event.ts'
import { make } from './sinks.ts'

/** An alert about a dead letter, as the notifier would send it. */
export function alertEvent(
  changes: Partial<AlertDocument> = {},
  severity: string = changes.status === 'resolved' ? 'info' : 'error',
): LazaretEvent {
  const document: AlertDocument = {
    v: 1,
    status: 'firing',
    key: 'shop/dead_letter/orders/billing/0123456789abcdef',
    kind: 'dead_letter',
    severity: 'error',
    title: 'Dead letters in orders: Error: connect ECONNREFUSED',
    summary:
      'Event e-1 (order.placed) was given up on by billing after 3 attempts: Error: connect ECONNREFUSED',
    count: 1,
    newCount: 1,
    since: '2026-01-01T00:00:00.000Z',
    lastSeenAt: '2026-01-01T00:00:00.000Z',
    at: '2026-01-01T00:00:00.000Z',
    durationMs: 0,
    service: 'shop',
    channel: 'orders',
    handler: 'billing',
    group: '0123456789abcdef',
    failed: {
      eventId: 'e-1',
      type: 'order.placed',
      channel: 'orders',
      source: '/shop/checkout',
      target: 'billing',
      handler: 'billing',
      lastError: 'Error: connect ECONNREFUSED',
      attempts: 3,
      reason: 'attempts_exhausted',
      category: 'transient',
      replay: 0,
      firstFailedAt: '2026-01-01T00:00:00.000Z',
      lastFailedAt: '2026-01-01T00:00:00.000Z',
      letterId: 'letter-1',
    },
    links: [{ text: 'Letter', href: 'https://lazaret.example/letters/letter-1' }],
    ...changes,
  }
  return make.event({ type: ALERT_EVENT_TYPE, payload: document, headers: { severity } })
}
