import type { Context, Span } from '@opentelemetry/api'
import type { LazaretEvent } from '../../core/event/event.ts'
import type { AttemptTrace, TraceSpan } from '../../ports/tracing.ts'
import { context, INVALID_SPAN_CONTEXT, ROOT_CONTEXT, trace } from './api.ts'
import { contextOf } from './headers.ts'

/** The key that spans are kept under, as the API asks for it. */
const SPAN_KEY = findSpanKey()

/**
 * The trace of an event that is not sampled. Work inside it belongs to the trace, so that it is not sampled either, and no
 * span is created. Almost every event has one, so one object is trace, span and context, with plain fields. It reads the
 * headers only when the span is read. A context of the API would copy a map.
 */
export class UnsampledTrail implements AttemptTrace, TraceSpan, Context {
  private readonly headers: LazaretEvent['headers']
  private span: Span | undefined = undefined
  /** The context of the caller. */
  private outer: Context = ROOT_CONTEXT

  constructor(headers: LazaretEvent['headers']) {
    this.headers = headers
  }

  attempt(): TraceSpan {
    return this
  }

  run(work: () => void): void {
    const active = context.active()
    // The span of another one is replaced by this one's. Kept, they would be a chain without end where each begins the next.
    this.outer = active instanceof UnsampledTrail ? active.outer : active
    context.with(this, work)
  }

  failed(): void {}
  dead(): void {}
  end(): void {}
  discard(): void {}

  getValue(key: symbol): unknown {
    return key === SPAN_KEY ? this.spanOf() : this.outer.getValue(key)
  }

  /** Setting or deleting a value returns a context of the API. */
  setValue(key: symbol, value: unknown): Context {
    return trace.setSpan(this.outer, this.spanOf()).setValue(key, value)
  }

  deleteValue(key: symbol): Context {
    const without = this.outer.deleteValue(key)
    return key === SPAN_KEY ? without : trace.setSpan(without, this.spanOf())
  }

  private spanOf(): Span {
    this.span ??= trace.wrapSpanContext(contextOf(this.headers) ?? INVALID_SPAN_CONTEXT)
    return this.span
  }
}

function findSpanKey(): symbol | undefined {
  let found: symbol | undefined
  const probe: Context = {
    getValue(key) {
      found = key
      return undefined
    },
    setValue: () => probe,
    deleteValue: () => probe,
  }
  trace.getSpan(probe)
  return found
}
