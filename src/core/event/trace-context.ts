import type { LazaretEvent } from './event.ts'

/** The trace and the parent span of an event, from the W3C header `traceparent`. */
export interface TraceContext {
  readonly traceId: string
  readonly spanId: string
  readonly traceFlags: number
}

/** The headers of W3C Trace Context. */
export const TRACEPARENT = 'traceparent'
export const TRACESTATE = 'tracestate'

/** Version ff is forbidden. Later versions may add fields after these four. */
const SHAPE = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-|$)/
const SAMPLED = 1

/**
 * Returns undefined if the header is not a valid `traceparent`. Other programs may send any text, and it must do no harm.
 */
export function parseTraceparent(header: string | undefined): TraceContext | undefined {
  if (header === undefined || !SHAPE.test(header)) return undefined
  return {
    traceId: header.slice(3, 35),
    spanId: header.slice(36, 52),
    traceFlags: Number.parseInt(header.slice(53, 55), 16),
  }
}

export function formatTraceparent({ traceId, spanId, traceFlags }: TraceContext): string {
  return `00-${traceId}-${spanId}-${traceFlags < 16 ? '0' : ''}${traceFlags.toString(16)}`
}

const LENGTH = 55
const ZERO = 0x30
const NO_TRACE = '0'.repeat(32)
const NO_SPAN = '0'.repeat(16)

/**
 * Whether the header shows that the trace is not sampled: its flags are 00. This runs for every event, so it checks only
 * the frame of the header and does not parse the ids. Returns false for an all-zero id, which senders without a trace
 * write.
 */
export function looksUnsampled(header: string): boolean {
  if (header.length !== LENGTH || header.charCodeAt(54) !== ZERO || !header.startsWith('-0', 52)) return false
  return !isAt(header, 3, NO_TRACE) && !isAt(header, 36, NO_SPAN)
}

function isAt(header: string, from: number, zeros: string): boolean {
  return header.charCodeAt(from) === ZERO && header.startsWith(zeros, from)
}

/** Whether the trace is sampled. */
export function isSampled({ traceFlags }: TraceContext): boolean {
  return (traceFlags & SAMPLED) === SAMPLED
}

export function traceContextOf({ headers }: Pick<LazaretEvent, 'headers'>): TraceContext | undefined {
  return parseTraceparent(headers[TRACEPARENT])
}
