import type { Context, Span } from '@opentelemetry/api'
import type { LazaretEvent } from '../../core/event/event.ts'
import type { AttemptTrace, TraceSpan } from '../../ports/tracing.ts'
import { context, INVALID_SPAN_CONTEXT, ROOT_CONTEXT, trace } from './api.ts'
import { contextOf } from './headers.ts'

/** The key that spans are kept under, as the API asks for it. */
const SPAN_KEY = findSpanKey()

/**
 * For what nobody keeps: it runs in its trace, so that all it begins is not kept either, and nothing is told. There is
 * one for almost every event, so it is its own step and its own context, with plain fields, and reads the headers only
 * when somebody asks for the span; a context of the API copies a map.
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
