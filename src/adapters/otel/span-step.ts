import type { Span } from '@opentelemetry/api'
import { masksOfEvent } from '../../core/dead-letter/event-masks.ts'
import type { Masks } from '../../core/dead-letter/masks.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import type { Failure } from '../../core/failure/failure.ts'
import type { TraceSpan } from '../../ports/tracing.ts'
import { context, trace } from './api.ts'
import { OWN, recordFailure } from './attributes.ts'

/** A running span. Code inside it keeps the other values of the caller's context, such as baggage. */
export class SpanStep implements TraceSpan {
  readonly span: Span
  readonly #masks: Masks
  /** The event of the step, if there is one. An error may quote values that are masked in the event. */
  readonly #event: LazaretEvent | undefined

  constructor(span: Span, masks: Masks, event?: LazaretEvent) {
    this.span = span
    this.#masks = masks
    this.#event = event
  }

  run(work: () => void): void {
    context.with(trace.setSpan(context.active(), this.span), work)
  }

  end(failure?: Failure): void {
    if (failure !== undefined && this.span.isRecording())
      recordFailure(this.span, failure, masksOfEvent(this.#event, this.#masks))
    this.span.end()
  }

  discard(): void {
    this.span.setAttribute(OWN.takenBack, true)
    this.span.end()
  }
}
