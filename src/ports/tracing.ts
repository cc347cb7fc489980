import type { AttemptRecord, DeadLetter } from '../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../core/event/event.ts'
import { TRACEPARENT } from '../core/event/trace-context.ts'
import { classify } from '../core/failure/classify.ts'
import type { Failure } from '../core/failure/failure.ts'
import { custom, optional } from '../core/options/rules.ts'

/** Who handles events, and where they come from. */
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

/** Something that takes time and is under way. It is ended once, by one of the ways to end it. */
export interface TraceSpan {
  /** Calls the work once, at once, in the step's context: what it begins belongs to the step, also later. */
  run(work: () => void): void
  /** It is over, well unless there is a failure. Never tells of payloads. */
  end(failure?: Failure): void
  /** It was cut off and counts for nothing: the process is closing. */
  discard(): void
}

/** Events being handed to a broker. */
export interface PublishSpan extends TraceSpan {
  /** The same events in the same order, with the context in their headers. These are the ones to hand over. */
  readonly events: readonly LazaretEvent[]
}

/** When an attempt ended, and the wait that was chosen after it. */
export type EndedAttempt = Pick<AttemptRecord, 'endedAt' | 'delayMs'>

/** What one event, or one call, goes through. */
export interface AttemptTrace {
  /**
   * A run begins. `previous` is the run right before it, if its end is known: it may have been in another process, and
   * the time since then was spent waiting.
   */
  attempt(number: number, startedAt: number, previous: EndedAttempt | undefined): TraceSpan
  /** A run has failed that was not taken for worth a step when it began. */
  failed(number: number, startedAt: number, endedAt: number, failure: Failure): void
  /** It was given up on, and the letter is where it is kept since just now. */
  dead(letter: DeadLetter, now: number): void
}

/**
 * Lets single events be followed from where they are sent, through every attempt and wait, to where they end. The
 * context travels in the events' headers, as W3C Trace Context has it, so it survives brokers, stores and restarts.
 *
 * - `publish` begins to hand events to a broker. A replay, known by its headers, begins a trace of its own that leads
 *   back to the one it repeats; what carries a context already keeps it.
 * - `follow` takes up an event that has arrived at a handler, by its headers. Invalid headers are ignored.
 * - `call` takes up a call of a protected function, if what it is part of is being followed.
 * - `write` begins to write a batch to a sink, if any event of it is being followed.
 * - `context` answers the caller's context as headers for an event; undefined when there is none. They may be
 *   shared among events, so nobody changes them.
 * - A method that answers undefined does not trace the step, and no other method is called for it.
 * - All of it happens on the path of an event, so it does not wait; and what nobody keeps should cost next to nothing.
 *   An implementation that throws changes nothing for the event: it is left out.
 */
export interface Tracing {
  publish(events: readonly LazaretEvent[], system: string): PublishSpan | undefined
  follow(event: LazaretEvent, at: TracedConsumer): AttemptTrace | undefined
  call(what: TracedFunction): AttemptTrace | undefined
  write(batch: readonly LazaretEvent[], sink: string): TraceSpan | undefined
  context(): LazaretEvent['headers'] | undefined
}

// How the port for tracing is used, so that no fault of an implementation becomes one of the event.

const METHODS = [
  'publish',
  'follow',
  'call',
  'write',
  'context',
] as const satisfies readonly (keyof Tracing)[]

/** The option `tracing` of whatever handles events. */
export const tracingRule = optional(custom(isTracing, 'give tracing, such as otelTracing() of lazaret/otel'))

function isTracing(value: unknown): value is Tracing {
  const tracing = value as Partial<Tracing> | null | undefined
  return METHODS.every(method => typeof tracing?.[method] === 'function')
}

/** Headers with a context of ours, unless they tell of one themselves. */
export function withTrace(
  headers: LazaretEvent['headers'] | undefined,
  trace: LazaretEvent['headers'] | undefined,
): LazaretEvent['headers'] | undefined {
  if (trace === undefined || headers?.[TRACEPARENT] !== undefined) return headers
  return headers === undefined ? trace : { ...headers, ...trace }
}

/** Undefined when it throws: an event without a trace is still handled. */
export function ignoreErrors<T>(ask: () => T): T | undefined {
  try {
    return ask()
  } catch {
    return undefined
  }
}

/** Does the work in a step's context, or without it if the step fails to. What the work throws is the work's. */
export function runInSpan<T>(step: TraceSpan, work: () => T): T {
  let end: { readonly value: T } | { readonly thrown: unknown } | undefined
  try {
    step.run(() => {
      try {
        end = { value: work() }
      } catch (thrown) {
        end = { thrown }
      }
    })
  } catch {
    // Before the work or after it: below it is known which.
  }
  if (end === undefined) return work()
  if ('thrown' in end) throw end.thrown
  return end.value
}

export function endSpan(step: TraceSpan, failure?: Failure): void {
  try {
    step.end(failure)
  } catch {
    // The step is the one to tell.
  }
}

/** Hands events to a broker, or whatever else takes them, as one step of their traces. */
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
