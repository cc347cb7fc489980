import { createHmac, timingSafeEqual } from 'node:crypto'
import { systemClock } from '../../src/ports/clock.ts'
import { type Received, type Receiver, type Reply, startReceiver } from './receiver.ts'

const TOLERANCE_SECONDS = 300
const CONTENT_TYPES = new Set([
  'application/json',
  'application/cloudevents+json',
  'application/cloudevents-batch+json',
])

export interface WebhookReceiverOptions {
  /** Verifies signatures with it, as Standard Webhooks says; without it none may be there. */
  readonly secret?: string | undefined
  readonly now?: (() => number) | undefined
  readonly maxBodyBytes?: number | undefined
  /** The whole Authorization header that is asked for. */
  readonly authorization?: string | undefined
}

export interface WebhookReceiver extends Receiver {
  /** What was taken, in order. */
  readonly taken: readonly Record<string, unknown>[]
  /** The ids of deliveries, in order. */
  readonly deliveryIds: readonly string[]
  /** From now on answers 422 to a body with one of these ids. */
  refuse(ids: readonly string[]): void
}

/** Takes JSON bodies: one object, or an array of them. Written from the Standard Webhooks specification, 1.0.0. */
export async function webhookReceiver(options: WebhookReceiverOptions = {}): Promise<WebhookReceiver> {
  const taken: Record<string, unknown>[] = []
  const deliveryIds: string[] = []
  let refused = new Set<unknown>()
  const receiver = await startReceiver(request => {
    if (request.method === 'HEAD') return { status: 405 }
    const fault = faultOf(request, options)
    if (fault !== undefined) return fault
    const value: unknown = JSON.parse(request.body.toString('utf8'))
    const events = (Array.isArray(value) ? value : [value]) as Record<string, unknown>[]
    const bad = events.find(({ id }) => refused.has(id))
    if (bad !== undefined) return { status: 422, body: `cannot process ${String(bad['id'])}` }
    taken.push(...events)
    deliveryIds.push(String(request.headers['webhook-id']))
    return { status: 200, body: 'ok' }
  })
  return Object.assign(receiver, {
    taken,
    deliveryIds,
    refuse(ids: readonly string[]) {
      refused = new Set(ids)
    },
  })
}

function faultOf(request: Received, options: WebhookReceiverOptions): Reply | undefined {
  const { secret, now = systemClock.now, maxBodyBytes = 10_000_000, authorization } = options
  const { method, headers, body } = request
  if (method !== 'POST' && method !== 'PUT') return { status: 405 }
  if (headers.authorization !== authorization) return { status: 401, body: 'who are you?' }
  if (!CONTENT_TYPES.has(headers['content-type'] ?? '')) return { status: 415, body: 'content-type' }
  if (headers['content-length'] === undefined) return { status: 411, body: 'content-length' }
  if (body.byteLength > maxBodyBytes) return { status: 413, body: 'too large' }
  if (!isJson(body)) return { status: 400, body: 'no JSON' }
  if (secret === undefined) {
    return headers['webhook-signature'] === undefined ? undefined : { status: 400, body: 'why a signature?' }
  }
  const fault = signatureFault(request, secret, now())
  return fault === undefined ? undefined : { status: 401, body: fault }
}

function isJson(body: Buffer): boolean {
  try {
    JSON.parse(body.toString('utf8'))
    return true
  } catch {
    return false
  }
}

function signatureFault({ headers, body }: Received, secret: string, nowMs: number): string | undefined {
  const id = headers['webhook-id']
  const timestamp = headers['webhook-timestamp']
  const signatures = headers['webhook-signature']
  if (typeof id !== 'string' || id === '' || id.includes('.')) return 'webhook-id is missing or has a dot'
  if (typeof timestamp !== 'string' || !/^\d{10}$/.test(timestamp)) return 'webhook-timestamp is no unix time'
  if (Math.abs(Math.floor(nowMs / 1_000) - Number(timestamp)) > TOLERANCE_SECONDS)
    return 'webhook-timestamp is off'
  if (typeof signatures !== 'string') return 'webhook-signature is missing'
  const key = Buffer.from(secret.replace(/^whsec_/, ''), 'base64')
  const expected = createHmac('sha256', key)
    .update(`${id}.${timestamp}.${body.toString('utf8')}`)
    .digest()
  const isRight = signatures.split(' ').some(signature => {
    const [version, encoded] = signature.split(',')
    const given = Buffer.from(encoded ?? '', 'base64')
    return version === 'v1' && given.byteLength === expected.byteLength && timingSafeEqual(given, expected)
  })
  return isRight ? undefined : 'no signature fits'
}
