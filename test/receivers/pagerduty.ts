import { json, type Received, type Receiver, type Reply, startReceiver } from './receiver.ts'

type Json = Readonly<Record<string, unknown>>

export interface PagerdutyAlert {
  readonly key: string
  readonly isOpen: boolean
  /** Triggers that were applied to it. */
  readonly triggers: number
  readonly payload: Json
}

export interface PagerdutyReceiver extends Receiver {
  readonly enqueue: string
  readonly routingKey: string
  /** Events that were taken, in order, repeated ones included. */
  readonly events: readonly Json[]
  /** What PagerDuty makes of them, in the order they were opened. */
  readonly alerts: readonly PagerdutyAlert[]
}

const ROUTING_KEY = 'R0123456789abcdefghijklmnopqrstu'
const MOST_BYTES = 512 * 1024
const SEVERITIES = ['critical', 'error', 'warning', 'info']
const TOP = ['routing_key', 'event_action', 'dedup_key', 'payload', 'images', 'links', 'client', 'client_url']
const PAYLOAD = [
  'summary',
  'source',
  'severity',
  'timestamp',
  'component',
  'group',
  'class',
  'custom_details',
]

/**
 * POST /v2/enqueue of the Events API v2, and the alerts that follow from what it takes. Written from
 * developer.pagerduty.com: send an alert event, de-duplication, response codes, size limits.
 */
export async function pagerdutyReceiver(): Promise<PagerdutyReceiver> {
  const events: Json[] = []
  const alerts: PagerdutyAlert[] = []
  const receiver = await startReceiver(request => {
    const refusal = refusalOf(request)
    if (refusal !== undefined) return refusal
    const event = JSON.parse(request.body.toString('utf8')) as Json
    const errors = faultsOf(event)
    if (errors.length > 0) return invalid(errors)
    events.push(event)
    apply(event, alerts)
    return json(202, { status: 'success', message: 'Event processed', dedup_key: event['dedup_key'] })
  })
  return Object.assign(receiver, {
    events,
    alerts,
    enqueue: `${receiver.url}/v2/enqueue`,
    routingKey: ROUTING_KEY,
  })
}

/** A key opens one alert at a time; what resolves none that is open is dropped. */
function apply({ event_action, dedup_key, payload }: Json, alerts: PagerdutyAlert[]): void {
  const key = String(dedup_key)
  const at = alerts.findIndex(alert => alert.isOpen && alert.key === key)
  if (event_action === 'resolve') {
    if (at >= 0) alerts[at] = { ...alerts[at]!, isOpen: false }
  } else if (at >= 0)
    alerts[at] = { ...alerts[at]!, triggers: alerts[at]!.triggers + 1, payload: payload as Json }
  else alerts.push({ key, isOpen: true, triggers: 1, payload: payload as Json })
}

function refusalOf({ method, url, headers, body }: Received): Reply | undefined {
  if (method !== 'POST') return { status: 405 }
  if (url !== '/v2/enqueue') return { status: 404 }
  if (body.byteLength > MOST_BYTES) return { status: 413 }
  if (!/^application\/json\b/.test(headers['content-type'] ?? '')) return invalid(['content-type'])
  try {
    JSON.parse(body.toString('utf8'))
    return undefined
  } catch {
    return invalid(['no JSON'])
  }
}

function invalid(errors: readonly string[]): Reply {
  return json(400, { status: 'invalid event', message: 'Event object is invalid', errors })
}

function faultsOf(event: Json): string[] {
  const { routing_key, event_action, dedup_key, payload, links } = event
  const faults = Object.keys(event)
    .filter(name => !TOP.includes(name))
    .map(name => `'${name}' is unknown`)
  if (typeof routing_key !== 'string' || routing_key.length !== 32)
    faults.push("Length of 'routing_key' is incorrect (should be 32 characters)")
  else if (routing_key !== ROUTING_KEY) faults.push(`Invalid routing key ${routing_key}`)
  if (typeof dedup_key !== 'string' || dedup_key === '' || dedup_key.length > 255)
    faults.push("'dedup_key' is missing or too long")
  if (event_action === 'resolve') return faults
  if (event_action !== 'trigger') return [...faults, "'event_action' is invalid"]
  for (const link of (links ?? []) as Json[])
    if (!/^https?:\/\//.test(String(link['href']))) faults.push("'links' need 'href'")
  return [...faults, ...payloadFaults((payload ?? {}) as Json)]
}

function payloadFaults(payload: Json): string[] {
  const { summary, source, severity, timestamp, custom_details = {} } = payload
  const faults = Object.keys(payload)
    .filter(name => !PAYLOAD.includes(name))
    .map(name => `'payload.${name}' is unknown`)
  if (typeof summary !== 'string' || summary === '' || summary.length > 1_024)
    faults.push("'payload.summary' is missing or too long")
  if (typeof source !== 'string' || source === '') faults.push("'payload.source' is missing or blank")
  if (!SEVERITIES.includes(String(severity))) faults.push("'payload.severity' is invalid")
  if (timestamp !== undefined && Number.isNaN(Date.parse(String(timestamp))))
    faults.push("'payload.timestamp' is invalid")
  if (typeof custom_details !== 'object') faults.push("'payload.custom_details' is no object")
  return faults
}
