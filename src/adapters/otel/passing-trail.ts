import {
  type Context,
  context,
  INVALID_SPAN_CONTEXT,
  ROOT_CONTEXT,
  type Span,
  trace,
} from '@opentelemetry/api'
import type { LazaretEvent } from '../../core/event/event.ts'
import type { AttemptTrace, TraceSpan } from '../../ports/tracing.ts'
import { contextIn } from './headers.ts'

/** The key that spans are kept under, as the API asks for it. */
const SPAN_KEY = askedKey()

/**
 * For what nobody keeps: it runs in its trace, so that all it begins is not kept either, and nothing is told. There is
 * one for almost every event, so it is its own step and its own context, with plain fields, and reads the headers only
 * when somebody asks for the span; a context of the API copies a map.
 */
export class PassingTrail implements AttemptTrace, TraceSpan, Context {
  private readonly headers: LazaretEvent['headers']
  private span: Span | undefined = undefined
  /** The context of the caller. */
  private around: Context = ROOT_CONTEXT

  constructor(headers: LazaretEvent['headers']) {
    this.headers = headers
  }

  attempt(): TraceSpan {
    return this
  }

  run(work: () => void): void {
    const active = context.active()
    // The span of another one is replaced by this one's. Kept, they would be a chain without end where each begins the next.
    this.around = active instanceof PassingTrail ? active.around : active
    context.with(this, work)
  }

  failed(): void {}
  dead(): void {}
  end(): void {}
  discard(): void {}

  getValue(key: symbol): unknown {
    return key === SPAN_KEY ? this.asked() : this.around.getValue(key)
  }

  /** Setting or deleting a value returns a context of the API. */
  setValue(key: symbol, value: unknown): Context {
    return trace.setSpan(this.around, this.asked()).setValue(key, value)
  }

  deleteValue(key: symbol): Context {
    const without = this.around.deleteValue(key)
    return key === SPAN_KEY ? without : trace.setSpan(without, this.asked())
  }

  private asked(): Span {
    this.span ??= trace.wrapSpanContext(contextIn(this.headers) ?? INVALID_SPAN_CONTEXT)
    return this.span
  }
}

function askedKey(): symbol | undefined {
  let asked: symbol | undefined
  const curious: Context = {
    getValue(key) {
      asked = key
      return undefined
    },
    setValue: () => curious,
    deleteValue: () => curious,
  }
  trace.getSpan(curious)
  return asked
}
