// How the port for tracing is used, so that no fault of an implementation becomes one of the event.
import type { LazaretEvent } from '../core/event/event.ts'
import { TRACEPARENT } from '../core/event/trace-context.ts'
import { classify } from '../core/failure/classify.ts'
import type { Failure } from '../core/failure/failure.ts'
import { optional, that } from '../core/options/rules.ts'
import type { Step, Tracing } from './tracing.ts'

const METHODS = [
  'publish',
  'follow',
  'call',
  'write',
  'context',
] as const satisfies readonly (keyof Tracing)[]

/** The option `tracing` of whatever handles events. */
export const tracingRule = optional(that(isTracing, 'give tracing, such as otelTracing() of lazaret/otel'))

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

/** Undefined when it throws: an event nobody follows goes its way all the same. */
export function quietly<T>(ask: () => T): T | undefined {
  try {
    return ask()
  } catch {
    return undefined
  }
}

/** Does the work in a step's context, or without it if the step fails to. What the work throws is the work's. */
export function runIn<T>(step: Step, work: () => T): T {
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

export function endStep(step: Step, failure?: Failure): void {
  try {
    step.end(failure)
  } catch {
    // The step is the one to tell.
  }
}

/** Hands events to a broker, or whatever else takes them, as one step of their traces. */
export async function publishIn(
  tracing: Tracing,
  system: string,
  events: readonly LazaretEvent[],
  handOver: (events: readonly LazaretEvent[]) => Promise<void>,
): Promise<void> {
  const step = quietly(() => tracing.publish(events, system))
  if (step === undefined) return handOver(events)
  try {
    await runIn(step, () => handOver(step.events))
  } catch (error) {
    endStep(step, classify(error))
    throw error
  }
  endStep(step)
}
