import { context, type Span, trace } from '@opentelemetry/api'
import type { Masks } from '../../core/dead-letter/masks.ts'
import type { Failure } from '../../core/failure/failure.ts'
import type { Step } from '../../ports/tracing.ts'
import { OWN, tellFailure } from './attributes.ts'

/** A span under way. What happens within it keeps what else is in the context of whoever runs it: baggage, for one. */
export class SpanStep implements Step {
  readonly span: Span
  readonly #masks: Masks

  constructor(span: Span, masks: Masks) {
    this.span = span
    this.#masks = masks
  }

  run(work: () => void): void {
    context.with(trace.setSpan(context.active(), this.span), work)
  }

  end(failure?: Failure): void {
    if (failure !== undefined && this.span.isRecording()) tellFailure(this.span, failure, this.#masks)
    this.span.end()
  }

  takenBack(): void {
    this.span.setAttribute(OWN.takenBack, true)
    this.span.end()
  }
}
