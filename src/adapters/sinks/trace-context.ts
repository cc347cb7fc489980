import type { LazaretEvent } from '../../core/event/event.ts'

/** Which trace an event belongs to, by the W3C header `traceparent`. */
export interface TraceContext {
  readonly traceId: string
  readonly spanId: string
  readonly traceFlags: number
}

/** Version ff is forbidden; later versions may add fields, the first four stay. */
const TRACEPARENT = /^(?!ff)[\da-f]{2}-(?!0{32})([\da-f]{32})-(?!0{16})([\da-f]{16})-([\da-f]{2})(?:-|$)/

export function traceContextOf({ headers }: LazaretEvent): TraceContext | undefined {
  const { traceparent } = headers
  if (traceparent === undefined) return undefined
  const [, traceId, spanId, flags] = TRACEPARENT.exec(traceparent) ?? []
  if (traceId === undefined || spanId === undefined || flags === undefined) return undefined
  return { traceId, spanId, traceFlags: Number.parseInt(flags, 16) }
}
