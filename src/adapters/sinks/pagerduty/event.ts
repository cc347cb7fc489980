import type { AlertSeverity } from '../../../core/alert/alert.ts'
import { timeText } from '../../../core/event/attributes.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { hash128 } from '../../../core/hash.ts'
import { cut, type Rendered, render } from '../alerts/rendering.ts'

/** Limits of the Events API v2. */
const MAX_SUMMARY_LENGTH = 1_024
const MAX_KEY_LENGTH = 255

interface PagerdutyEvent {
  readonly routing_key: string
  readonly event_action: 'trigger' | 'resolve'
  readonly dedup_key: string
  readonly payload?: PagerdutyPayload | undefined
  readonly links?: readonly { readonly href: string; readonly text: string }[] | undefined
  readonly client?: string | undefined
}

interface PagerdutyPayload {
  readonly summary: string
  readonly source: string
  readonly severity: AlertSeverity
  readonly timestamp: string
  readonly component?: string | undefined
  readonly group?: string | undefined
  readonly class: string
  readonly custom_details: Readonly<Record<string, unknown>>
}

/**
 * An alert triggers an incident, and its end resolves it by its key. Any other event triggers its own incident, which a
 * person resolves.
 */
export function pagerdutyEvent(event: LazaretEvent, routingKey: string, source: string): PagerdutyEvent {
  const rendered = render(event)
  const { alert, links } = rendered
  const key = alert?.key ?? event.id
  const head = {
    routing_key: routingKey,
    dedup_key: key.length <= MAX_KEY_LENGTH ? key : hash128(key),
  } as const
  if (alert?.status === 'resolved') return { ...head, event_action: 'resolve' }
  return {
    ...head,
    event_action: 'trigger',
    client: 'Lazaret',
    payload: payloadOf(event, rendered, source),
    ...(links.length > 0 && { links: links.map(({ href, text }) => ({ href, text })) }),
  }
}

function payloadOf(event: LazaretEvent, rendered: Rendered, source: string): PagerdutyPayload {
  const { alert, severity, title, summary, facts, lastError } = rendered
  const component = alert?.failed?.handler ?? alert?.breaker ?? alert?.target
  const group = alert?.channel ?? (alert === undefined ? event.channel : undefined)
  return {
    summary: cut(summary === '' || alert !== undefined ? title : `${title}: ${summary}`, MAX_SUMMARY_LENGTH),
    source: alert?.service ?? event.source ?? source,
    severity,
    timestamp: timeText(event.occurredAt),
    ...(component !== undefined && { component }),
    ...(group !== undefined && { group }),
    class: alert?.kind ?? event.type,
    custom_details: {
      ...(summary !== '' && { Summary: summary }),
      ...Object.fromEntries(facts),
      ...(lastError !== undefined && { 'Last error': lastError }),
      ...(alert && { Count: alert.count, Since: alert.since }),
    },
  }
}
