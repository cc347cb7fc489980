import type { TrackInput } from '../../runtime/dispatcher/track/track-input.ts'
import { severityOf } from './severity.ts'

export interface LineOptions {
  /** What the types of events begin with; the severity follows: `log.error` ['log']. */
  readonly type: string
  /** The field that names the type of an event by itself, if a line has it, such as `event: 'order.paid'`. */
  readonly typeField: string | undefined
}

/**
 * The event type for a line that is not a JSON object or cannot become an event. Its severity is unknown, and people
 * should see it.
 */
const UNPARSED = 'unparsed'
const UNPARSED_SEVERITY = 'warn'
/** A line that makes no event may be of any size; this much of it tells what it was. */
const MAX_KEPT_CHARS = 16_384

/** The characters a source may have; the name of a logger may have others. */
const SOURCE = /^[\w.~:/@-]{1,200}$/
const TRACE_ID = /^(?!0{32})[0-9a-f]{32}$/
const SPAN_ID = /^(?!0{16})[0-9a-f]{16}$/
const TRACE_FLAGS = /^[0-9a-f]{2}$/
const LATEST_TIME = 8.64e15

/** What to track for a line of pino: level, time and trace say how, everything else is the payload. */
export function trackInputOf(text: string, options: LineOptions): TrackInput {
  const line = parsed(text)
  if (line === undefined) return unparsed(text, options)
  const { level, time, ...payload } = line
  const severity = severityOf(level)
  const { name, [options.typeField ?? '']: ownType } = line
  const hasOwnType = options.typeField !== undefined && typeof ownType === 'string' && ownType !== ''
  return {
    type: hasOwnType ? ownType : `${options.type}.${severity}`,
    severity,
    payload,
    occurredAt: timeOf(time),
    source: typeof name === 'string' && SOURCE.test(name) ? name : undefined,
    headers: traceOf(line),
  }
}

/** For lines that are not JSON objects or cannot become events: no logged line is lost. */
export function unparsed(text: string, { type }: LineOptions): TrackInput {
  const line = text.slice(0, MAX_KEPT_CHARS)
  const payload = line.length === text.length ? { line } : { line, cutFrom: text.length }
  return { type: `${type}.${UNPARSED}`, severity: UNPARSED_SEVERITY, payload }
}

function parsed(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** Milliseconds, or what `pino.stdTimeFunctions.isoTime` writes. */
function timeOf(time: unknown): number | undefined {
  const ms = typeof time === 'string' ? Date.parse(time) : time
  return typeof ms === 'number' && ms >= 0 && ms <= LATEST_TIME ? Math.trunc(ms) : undefined
}

/** The names that OpenTelemetry's instrumentation of pino writes, and the ones people use by hand. */
function traceOf(line: Readonly<Record<string, unknown>>): TrackInput['headers'] {
  const { trace_id, span_id, trace_flags, traceId = trace_id, spanId = span_id } = line
  if (typeof traceId !== 'string' || typeof spanId !== 'string') return undefined
  if (!TRACE_ID.test(traceId) || !SPAN_ID.test(spanId)) return undefined
  const flags = typeof trace_flags === 'string' && TRACE_FLAGS.test(trace_flags) ? trace_flags : '01'
  return { traceparent: `00-${traceId}-${spanId}-${flags}` }
}
