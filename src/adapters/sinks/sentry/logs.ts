import type { LazaretEvent } from '../../../core/event/event.ts'
import { isBytes } from '../../../core/event/plain.ts'
import { traceContextOf } from '../../../core/event/trace-context.ts'
import { severityOf } from '../severity.ts'
import { messageOf, sentryId } from './event.ts'
import type { SentryEnvelope } from './sdk.ts'

/** Sentry takes a hundred in one envelope. */
export const LOGS_PER_ENVELOPE = 100

/** Creates one envelope of Sentry's structured logs from events. */
export function logEnvelope(events: readonly LazaretEvent[], showsPayload: boolean): SentryEnvelope {
  const headers = {
    type: 'log',
    item_count: events.length,
    content_type: 'application/vnd.sentry.items.log+json',
  }
  return [{}, [[headers, { items: events.map(event => logOf(event, showsPayload)) }]]]
}

function logOf(event: LazaretEvent, showsPayload: boolean): object {
  const { id, type, channel, key, occurredAt, payload } = event
  const texts = {
    'event.id': id,
    'event.type': type,
    'event.channel': channel,
    ...(key !== undefined && { 'event.key': key }),
    ...(showsPayload && payload !== null && { 'event.payload': payloadText(payload) }),
  }
  return {
    timestamp: occurredAt / 1_000,
    // A log must have a trace id, so an event without a trace gets its own.
    trace_id: traceContextOf(event)?.traceId ?? sentryId(id),
    level: severityOf(event),
    body: messageOf(event).toWellFormed(),
    attributes: Object.fromEntries(
      Object.entries(texts).map(([name, value]) => [name, { type: 'string', value: value.toWellFormed() }]),
    ),
  }
}

function payloadText(payload: unknown): string {
  return isBytes(payload) ? `${payload.length} bytes` : JSON.stringify(payload)
}
