import { runInSpan, type TraceSpan } from '../../ports/tracing.ts'
import { AttemptContext } from '../attempt/attempt.ts'

/**
 * Runs the work inside the span of the attempt, so that spans of the work become its children. It is a function beside the
 * class, and not a method, because handlers receive the context and must not see it.
 */
export let inTrace: <T>(context: HandlerContext, work: () => T) => T

/** The context of an attempt for a handler. */
export class HandlerContext extends AttemptContext {
  /** Which replay of the event this is; 0 for its first cycle. */
  readonly replay: number
  readonly #step: TraceSpan | undefined

  constructor(attempt: number, replay: number, step?: TraceSpan) {
    super(attempt)
    this.replay = replay
    this.#step = step
  }

  static {
    inTrace = (context, work) => (context.#step === undefined ? work() : runInSpan(context.#step, work))
  }
}
