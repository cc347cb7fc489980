import { createEvent, type EventInput, type LazaretEvent } from '../../../core/event/event.ts'
import type { EventLimits } from '../../../core/event/limits.ts'
import { SEVERITY_HEADER } from '../../../core/event/severity.ts'
import type { IdSource } from '../../../core/event/uuid.ts'
import { ignoreErrors, type Tracing, withTrace } from '../../../ports/tracing.ts'
import type { OnTrackingFailure } from './tracking-mode.ts'

/** The event that `track()` sends. */
export interface TrackInput<P = unknown> extends Omit<EventInput<P>, 'channel'> {
  /** Default: the dispatcher's. */
  readonly channel?: string | undefined
  /** Travels as the header `severity`: 'error', 'fatal' … The rate limit looks at it, and so do sinks. */
  readonly severity?: string | undefined
}

/** Options of `track()`. */
export interface TrackOptions {
  /** Resolve when every sink has an outcome, or as soon as the event is in the buffers [outcome]. */
  readonly wait?: 'outcome' | 'accepted' | undefined
  /** Whether a failure to track is thrown, for this call [as the job says, else `failOnErrorIn` of the dispatcher]. */
  readonly onFailure?: OnTrackingFailure | undefined
}

/** The defaults for all events of a dispatcher. */
export interface EventDefaults {
  readonly channel: string
  readonly source: string | undefined
  readonly limits: EventLimits
  readonly newId: IdSource
  readonly tracing: Tracing | undefined
}

/** Throws an EventError when the input is not a valid event. */
export function eventOf(input: TrackInput, defaults: EventDefaults, now: number): LazaretEvent {
  const { newId, limits, channel, source, tracing } = defaults
  const headers = tracing && traceHeaders(tracing)
  const whole = withHeaders(input, headers) as EventInput
  return createEvent(whole, { now, newId, limits, channel, source, headers })
}

/** A function of its own, because a closure inside of `eventOf` would cost every event, also without tracing. */
function traceHeaders(tracing: Tracing): LazaretEvent['headers'] | undefined {
  return ignoreErrors(() => tracing.context())
}

/** Adds the severity to headers, and to those an event has of its own the trace, unless they tell of one. */
function withHeaders(input: TrackInput, trace: LazaretEvent['headers'] | undefined): TrackInput {
  try {
    const { severity, headers: given } = input
    if (severity === undefined && (given === undefined || trace === undefined)) return input
    const headers = withTrace(given, trace)
    return having(input, severity === undefined ? headers : { ...headers, [SEVERITY_HEADER]: severity })
  } catch {
    // It cannot even be read, be it no object or one whose getters throw; that is said best where events are made.
    return input
  }
}

function having(input: TrackInput, headers: TrackInput['headers']): TrackInput {
  return {
    type: input.type,
    channel: input.channel,
    payload: input.payload,
    id: input.id,
    key: input.key,
    idempotencyKey: input.idempotencyKey,
    occurredAt: input.occurredAt,
    expiresAt: input.expiresAt,
    source: input.source,
    correlationId: input.correlationId,
    headers,
  }
}
