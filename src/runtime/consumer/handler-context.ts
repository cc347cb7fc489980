import { runInSpan, type TraceSpan } from '../../ports/tracing.ts'
import { AttemptContext } from '../attempt/attempt.ts'

/** Does the work where what it begins belongs to the attempt. */
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
