import { decodeTracesRequest } from './otlp-protobuf.ts'
import { id, keyValues, listOf, member, nanoseconds } from './otlp-values.ts'
import { type Receiver, startReceiver } from './receiver.ts'

export interface CollectedLink {
  readonly traceId: string
  readonly spanId: string
}

/** A span as the collector understood it. */
export interface CollectedSpan {
  readonly traceId: string
  readonly spanId: string
  /** Empty: it is a root. */
  readonly parentSpanId: string
  readonly name: string
  readonly kind: 'internal' | 'server' | 'client' | 'producer' | 'consumer'
  readonly startMs: number
  readonly endMs: number
  readonly attributes: Readonly<Record<string, unknown>>
  readonly links: readonly CollectedLink[]
  readonly status: { readonly code: 'unset' | 'ok' | 'error'; readonly message: string }
  readonly scope: string
}

export interface OtlpTracesReceiver extends Receiver {
  /** Where traces are taken. */
  readonly tracesUrl: string
  /** What was taken, in order. */
  readonly spans: readonly CollectedSpan[]
}

const PROTOBUF_TYPE = 'application/x-protobuf'
const KINDS = [undefined, 'internal', 'server', 'client', 'producer', 'consumer'] as const
const CODES = ['unset', 'ok', 'error'] as const

/** POST /v1/traces of a collector, in protobuf. Written from the OTLP 1.x specification and its definitions. */
export async function otlpTracesReceiver(): Promise<OtlpTracesReceiver> {
  const spans: CollectedSpan[] = []
  const receiver = await startReceiver(request => {
    if (request.url !== '/v1/traces') return { status: 404 }
    if (request.method !== 'POST') return { status: 405 }
    if (request.headers['content-type'] !== PROTOBUF_TYPE) return { status: 415 }
    try {
      spans.push(...spansOf(decodeTracesRequest(request.body)))
      return { status: 200, headers: { 'content-type': PROTOBUF_TYPE }, body: new Uint8Array() }
    } catch (error) {
      return { status: 400, body: String(error) }
    }
  })
  return Object.assign(receiver, { tracesUrl: `${receiver.url}/v1/traces`, spans })
}

/** The spans of a request in the JSON of OTLP. */
export function spansOf(request: unknown): CollectedSpan[] {
  return listOf(request, 'resourceSpans').flatMap(resourceSpans =>
    listOf(resourceSpans, 'scopeSpans').flatMap(scopeSpans => {
      const scope = String(member(member(scopeSpans, 'scope'), 'name') ?? '')
      return listOf(scopeSpans, 'spans').map(span => ({ ...collected(span), scope }))
    }),
  )
}

function collected(span: unknown): Omit<CollectedSpan, 'scope'> {
  const kind = KINDS[Number(member(span, 'kind') ?? 0)]
  const code = CODES[Number(member(member(span, 'status'), 'code') ?? 0)]
  const name = member(span, 'name')
  if (kind === undefined || code === undefined) throw new Error('kind or status')
  if (typeof name !== 'string' || name === '') throw new Error('a span without a name')
  const startMs = milliseconds(member(span, 'startTimeUnixNano'))
  const endMs = milliseconds(member(span, 'endTimeUnixNano'))
  if (endMs < startMs) throw new Error(`${name} ends before it starts`)
  return {
    ...place(span),
    parentSpanId: id(member(span, 'parentSpanId'), 8),
    name,
    kind,
    startMs,
    endMs,
    attributes: keyValues(span, 'attributes'),
    links: listOf(span, 'links').map(place),
    status: { code, message: String(member(member(span, 'status'), 'message') ?? '') },
  }
}

function place(of: unknown): CollectedLink {
  const found = { traceId: id(member(of, 'traceId'), 16), spanId: id(member(of, 'spanId'), 8) }
  if (!/[1-9a-f]/.test(found.traceId) || !/[1-9a-f]/.test(found.spanId)) throw new Error('an id of zeros')
  return found
}

function milliseconds(value: unknown): number {
  return Number(BigInt(nanoseconds(value)) / 1_000n) / 1_000
}
