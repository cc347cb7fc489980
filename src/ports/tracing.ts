import type { AttemptRecord, DeadLetter } from '../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../core/event/event.ts'
import { TRACEPARENT } from '../core/event/trace-context.ts'
import { classify } from '../core/failure/classify.ts'
import type { Failure } from '../core/failure/failure.ts'
import { having, optional } from '../core/options/rules.ts'
import { catchRejection } from '../core/promise-like.ts'

/** The consumer that handles a traced event. */
export interface TracedConsumer {
  /** The broker's name. */
  readonly system: string
  readonly channel: string
  readonly handler: string
}

/** A protected function. */
export interface TracedFunction {
  readonly name: string
}

/** A running span. The caller ends it exactly once, with `end` or `discard`. */
export interface TraceSpan {
  /** Calls the work once, synchronously, in the context of the span. Asynchronous work that it starts belongs to the span. */
  run(work: () => void): void
  /** Ends the span, as failed if there is a failure. The span never contains payloads. */
  end(failure?: Failure): void
  /** Ends the span of an interrupted attempt that does not count, because the process is closing. */
  discard(): void
}

/** The span of a publish call. */
export interface PublishSpan extends TraceSpan {
  /** The same events in the same order, with the trace context in their headers. The caller publishes these. */
  readonly events: readonly LazaretEvent[]
}

/** The end of an attempt, and the wait after it. */
export type EndedAttempt = Pick<AttemptRecord, 'endedAt' | 'delayMs'>

/** The trace of one event or one call. */
export interface AttemptTrace {
  /**
   * Starts the span of an attempt. `previous` is the attempt before it, if its end is known; it may have run in another
   * process. The trace shows the time between them as waiting.
   */
  attempt(number: number, startedAt: number, previous: EndedAttempt | undefined): TraceSpan
  /** Records a failed attempt for which no span was started. */
  failed(number: number, startedAt: number, endedAt: number, failure: Failure): void
  /** Lazaret gave up on the event, and its letter is saved. */
  dead(letter: DeadLetter, now: number): void
}

/**
 * Traces single events from publishing, through every attempt and wait, to their end. The context travels in the headers
 * of events, in the format of W3C Trace Context, so it survives brokers, stores and restarts.
 *
 * - `publish` starts the span of a publish call. A replay, known by its headers, starts a new trace that links to the
 *   trace of the first delivery. An event that has a context keeps it.
 * - `follow` continues the trace of an event that has arrived at a handler, by its headers. It ignores an invalid context.
 * - `call` starts the trace of a protected function, if its caller is traced.
 * - `write` starts the span of a batch for a sink, if any event of the batch is traced.
 * - `context` returns the context of the caller, as headers for an event. Several events may share the object, so nobody
 *   may change it.
 * - Each method returns undefined if nothing is traced.
 * - All methods run on the path of an event, so they never wait, and an event that is not sampled must cost almost
 *   nothing. Lazaret ignores the errors of an implementation, because tracing must not make an event fail.
 */
export interface Tracing {
  publish(events: readonly LazaretEvent[], system: string): PublishSpan | undefined
  follow(event: LazaretEvent, at: TracedConsumer): AttemptTrace | undefined
  call(what: TracedFunction): AttemptTrace | undefined
  write(batch: readonly LazaretEvent[], sink: string): TraceSpan | undefined
  context(): LazaretEvent['headers'] | undefined
}

// The functions below call the tracing port and ignore its errors, because tracing must not make an event fail.

const METHODS = [
  'publish',
  'follow',
  'call',
  'write',
  'context',
] as const satisfies readonly (keyof Tracing)[]

/** The option `tracing` of whatever handles events. */
export const tracingRule = optional(
  having<Tracing>('give tracing, such as otelTracing() of lazaret/otel', ...METHODS),
)

/** Adds the trace context to headers that have none. */
export function withTrace(
  headers: LazaretEvent['headers'] | undefined,
  trace: LazaretEvent['headers'] | undefined,
): LazaretEvent['headers'] | undefined {
  if (trace === undefined || headers?.[TRACEPARENT] !== undefined) return headers
  return headers === undefined ? trace : { ...headers, ...trace }
}

/** Undefined when it throws or returns a promise: an event without a trace is still handled. */
export function ignoreErrors<T>(ask: () => T): T | undefined {
  try {
    const answer = ask()
    return catchRejection(answer) ? undefined : answer
  } catch {
    return undefined
  }
}

/** Runs the work in the context of a span, or without it if the span throws. It rethrows errors of the work. */
export function runInSpan<T>(step: TraceSpan, work: () => T): T {
  let end: { readonly value: T } | { readonly thrown: unknown } | undefined
  try {
    const ran: unknown = step.run(() => {
      try {
        end = { value: work() }
      } catch (thrown) {
        end = { thrown }
      }
    })
    catchRejection(ran)
  } catch {
    // The span threw before or after the work; `end` tells which.
  }
  if (end === undefined) return work()
  if ('thrown' in end) throw end.thrown
  return end.value
}

export function endSpan(step: TraceSpan, failure?: Failure): void {
  try {
    catchRejection(step.end(failure))
  } catch {
    // The error is that of the tracing implementation, and nobody can receive it.
  }
}

export function discardSpan(step: TraceSpan): void {
  ignoreErrors(() => step.discard())
}

/** Publishes events in a span of their traces. */
export async function publishInSpan(
  tracing: Tracing,
  system: string,
  events: readonly LazaretEvent[],
  handOver: (events: readonly LazaretEvent[]) => Promise<void>,
): Promise<void> {
  const step = ignoreErrors(() => tracing.publish(events, system))
  if (step === undefined) return handOver(events)
  try {
    await runInSpan(step, () => handOver(step.events))
  } catch (error) {
    endSpan(step, classify(error))
    throw error
  }
  endSpan(step)
}
