import type { SpanContext } from '@opentelemetry/api'
import type { LazaretEvent } from '../../core/event/event.ts'
import { REPLAY_HEADERS, replayOf } from '../../core/event/replay-headers.ts'
import {
  formatTraceparent,
  parseTraceparent,
  TRACEPARENT,
  TRACESTATE,
  type TraceContext,
} from '../../core/event/trace-context.ts'
import { createTraceState } from './api.ts'

type Headers = LazaretEvent['headers']

/** The context in headers, or undefined. Other values in these headers stay as they are. */
export function contextOf(headers: Headers): SpanContext | undefined {
  const found = parseTraceparent(headers[TRACEPARENT])
  return found && remote(found, headers[TRACESTATE])
}

/** The context of the cycle that a replay repeats: from its own header, or the current one if it is not replaced yet. */
export function originalContextOf(headers: Headers): SpanContext | undefined {
  const original = parseTraceparent(headers[REPLAY_HEADERS.originalTraceparent] ?? headers[TRACEPARENT])
  return original && remote(original)
}

function remote({ traceId, spanId, traceFlags }: TraceContext, state?: string): SpanContext {
  return state === undefined
    ? { traceId, spanId, traceFlags, isRemote: true }
    : { traceId, spanId, traceFlags, isRemote: true, traceState: createTraceState(state) }
}

/** The headers with a context in place of the one they have, if any. */
export function withContext(headers: Headers | undefined, at: SpanContext): Headers {
  const { [TRACESTATE]: _state, ...rest } = headers ?? {}
  const state = at.traceState?.serialize()
  const own = state === undefined || state === '' ? undefined : { [TRACESTATE]: state }
  return { ...rest, [TRACEPARENT]: formatTraceparent(at), ...own }
}

export function isReplay(event: LazaretEvent): boolean {
  return replayOf(event) !== undefined
}

/**
 * A replay without its own trace yet: its headers name the trace that it repeats, and the replay is not part of that
 * trace.
 */
export function repeats(event: LazaretEvent): boolean {
  return isReplay(event) && event.headers[REPLAY_HEADERS.originalTraceparent] === undefined
}
