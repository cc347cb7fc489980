import { type Context, context, type Span } from '@opentelemetry/api'
import type { Masks } from '../../core/dead-letter/masks.ts'
import type { Failure } from '../../core/failure/failure.ts'
import type { Step } from '../../ports/tracing.ts'
import { OWN, tellFailure } from './attributes.ts'

/** A span under way, and the context that what happens within it runs in. */
export class SpanStep implements Step {
  readonly span: Span
  readonly #within: Context
  readonly #masks: Masks

  constructor(span: Span, within: Context, masks: Masks) {
    this.span = span
    this.#within = within
    this.#masks = masks
  }

  run(work: () => void): void {
    context.with(this.#within, work)
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
