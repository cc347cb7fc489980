import type { LazaretEvent } from './event.ts'

/** Which trace something belongs to, and the span it came from, by the W3C header `traceparent`. */
export interface TraceContext {
  readonly traceId: string
  readonly spanId: string
  readonly traceFlags: number
}

/** The headers of W3C Trace Context. */
export const TRACEPARENT = 'traceparent'
export const TRACESTATE = 'tracestate'

/** Version ff is forbidden; later versions may add fields, the first four stay. */
const SHAPE = /^(?!ff)[\da-f]{2}-(?!0{32})[\da-f]{32}-(?!0{16})[\da-f]{16}-[\da-f]{2}(?:-|$)/
const SAMPLED = 1

/** Undefined for what is no `traceparent`: strangers send all kinds of things, and none of them may do harm. */
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
 * Whether one look is enough to tell that nobody keeps the trace: the flags of such headers are 00. It looks at the
 * frame of the header alone, because it is asked for every event; who needs the ids parses them. All zeros is what
 * senders without a trace put there, and no trace that anybody began.
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
