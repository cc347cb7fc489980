import { json, type Received, type Receiver, type Reply, startReceiver } from './receiver.ts'
import { type Envelope, type EnvelopeItem, object, parseEnvelope } from './sentry-envelope.ts'

type Json = Readonly<Record<string, unknown>>

export interface SentryReceiver extends Receiver {
  /** What a client is given. */
  readonly dsn: string
  /** Events as they arrived, repeated ones included. */
  readonly arrivals: readonly Json[]
  /** What Sentry would keep: of events with one id, the first. */
  readonly events: ReadonlyMap<string, Json>
  readonly logs: readonly Json[]
  readonly reports: readonly Json[]
  /** From now on events with these ids are refused as too large. */
  refuse(eventIds: readonly string[]): void
  /** Sent with every answer: `60:error:organization`. */
  announceLimits(header: string | undefined): void
}

const PROJECT = '42'
const KEY = '0123456789abcdef0123456789abcdef'
const LARGEST_EVENT_BYTES = 1_048_576
const HEX_32 = /^[\da-f]{32}$/
const LEVELS = new Set(['fatal', 'error', 'warning', 'info', 'debug'])
const LOG_LEVELS = new Set(['trace', 'debug', 'info', 'warn', 'error', 'fatal'])

/** POST /api/42/envelope/ of Sentry. Written from develop.sentry.dev: envelopes, items, event payloads, rate limits. */
export async function sentryReceiver(): Promise<SentryReceiver> {
  const arrivals: Json[] = []
  const events = new Map<string, Json>()
  const logs: Json[] = []
  const reports: Json[] = []
  let refused: ReadonlySet<string> = new Set()
  let limits: string | undefined
  const take = (item: EnvelopeItem, envelope: Envelope): void => {
    const content = object(item.payload, 'item')
    if (item.headers['type'] === 'event') {
      const event = checkedEvent(content, envelope)
      arrivals.push(event)
      if (!events.has(event['event_id'] as string)) events.set(event['event_id'] as string, event)
    } else if (item.headers['type'] === 'log') logs.push(...checkedLogs(content, item))
    else if (item.headers['type'] === 'client_report') reports.push(checkedReport(content))
    else throw new Error(`item type ${String(item.headers['type'])}`)
  }
  const receiver = await startReceiver(request => {
    const headers = limits === undefined ? {} : { 'x-sentry-rate-limits': limits }
    const fault = faultOf(request)
    if (fault !== undefined) return fault
    try {
      const envelope = parseEnvelope(request.body)
      const { items } = envelope
      if (items.filter(item => item.headers['type'] === 'event').length > 1) throw new Error('two events')
      const id = envelope.headers['event_id']
      const isTooLarge = items.some(item => item.payload.length > LARGEST_EVENT_BYTES)
      if (isTooLarge || refused.has(String(id))) return { status: 413, headers }
      for (const item of items) take(item, envelope)
      return json(200, id === undefined ? {} : { id }, headers)
    } catch (error) {
      return json(400, { detail: String(error) }, headers)
    }
  })
  return Object.assign(receiver, {
    dsn: `${receiver.url.replace('://', `://${KEY}@`)}/${PROJECT}`,
    arrivals,
    events,
    logs,
    reports,
    refuse(eventIds: readonly string[]) {
      refused = new Set(eventIds)
    },
    announceLimits(header: string | undefined) {
      limits = header
    },
  })
}

function faultOf({ method, url, headers }: Received): Reply | undefined {
  const { pathname, searchParams } = new URL(url, 'http://sentry')
  if (pathname !== `/api/${PROJECT}/envelope/`) return { status: 404 }
  if (method !== 'POST') return { status: 405 }
  const auth = authOf(headers['x-sentry-auth'], searchParams)
  if (auth.get('sentry_version') !== '7' || !auth.has('sentry_key')) return { status: 401 }
  return auth.get('sentry_key') === KEY ? undefined : { status: 403 }
}

/** `X-Sentry-Auth: Sentry sentry_key=…, sentry_version=7`, or the same in the query. */
function authOf(header: unknown, query: URLSearchParams): URLSearchParams {
  if (typeof header !== 'string') return query
  return new URLSearchParams(header.replace(/^Sentry /, '').replaceAll(/,\s*/g, '&'))
}

function checkedEvent(event: Json, { headers }: Envelope): Json {
  const { event_id: id, timestamp, level, platform, tags = {}, fingerprint = [], breadcrumbs = [] } = event
  demand(typeof id === 'string' && HEX_32.test(id) && id === headers['event_id'], 'event_id')
  demand(typeof timestamp === 'number' && timestamp > 1e9 && timestamp < 1e10, 'timestamp')
  demand(LEVELS.has(String(level)), 'level')
  demand(platform === 'node', 'platform')
  demand(!Number.isNaN(Date.parse(String(headers['sent_at']))), 'sent_at')
  demand(Array.isArray(fingerprint) && fingerprint.every(part => typeof part === 'string'), 'fingerprint')
  for (const [name, value] of Object.entries(tags as Json)) {
    demand(/^[a-zA-Z0-9_.:-]{1,200}$/.test(name), `tag ${name}`)
    demand(typeof value === 'string' && value.length <= 200 && !value.includes('\n'), `tag ${name}`)
  }
  for (const crumb of breadcrumbs as readonly Json[]) {
    demand(typeof crumb['timestamp'] === 'number' && LEVELS.has(String(crumb['level'])), 'breadcrumb')
  }
  const { exception, message } = event as { exception?: { values?: readonly Json[] }; message?: unknown }
  const isException = exception?.values?.every(
    ({ type, value }) => typeof type === 'string' && value !== undefined,
  )
  demand(isException === true || typeof message === 'string', 'neither exception nor message')
  return event
}

function checkedLogs({ items }: Json, { headers }: EnvelopeItem): readonly Json[] {
  demand(headers['content_type'] === 'application/vnd.sentry.items.log+json', 'content_type')
  demand(Array.isArray(items) && items.length === headers['item_count'] && items.length <= 100, 'item_count')
  for (const log of items as readonly Json[]) {
    demand(typeof log['timestamp'] === 'number' && HEX_32.test(String(log['trace_id'])), 'trace_id')
    demand(LOG_LEVELS.has(String(log['level'])) && typeof log['body'] === 'string', 'level')
    for (const { type, value } of Object.values(log['attributes'] as Record<string, Json>))
      demand(type === typeof value || (type === 'integer' && Number.isInteger(value)), 'attribute')
  }
  return items as readonly Json[]
}

function checkedReport(report: Json): Json {
  demand(Array.isArray(report['discarded_events']), 'discarded_events')
  return report
}

function demand(isSo: boolean, what: string): void {
  if (!isSo) throw new Error(what)
}
