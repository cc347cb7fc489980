import type { SpanContext, Tracer } from '@opentelemetry/api'
import type { Masks } from '../../core/dead-letter/masks.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import { isSampled, looksUnsampled, TRACEPARENT } from '../../core/event/trace-context.ts'
import type {
  AttemptTrace,
  PublishSpan,
  TracedConsumer,
  TracedFunction,
  TraceSpan,
  Tracing,
} from '../../ports/tracing.ts'
import { context, isSpanContextValid, ROOT_CONTEXT, SpanKind, trace } from './api.ts'
import { eventAttributes, MESSAGING, replayAttributes } from './attributes.ts'
import { contextOf, isReplay, originalContextOf, repeats, withContext } from './headers.ts'
import { type OtelTracingOptions, resolveTracing } from './options.ts'
import { beginPublish, linksOf, MAX_LINKS } from './publishing.ts'
import { callSpans, stationSpans } from './span-names.ts'
import { SpanStep } from './span-step.ts'
import { SpanTrail, type TrailPlan } from './trail.ts'
import { UnsampledTrail } from './unsampled-trail.ts'

const SCOPE = 'lazaret'
const NOTHING = Object.freeze({})
const nothing = () => NOTHING

/**
 * Tracing through the API of OpenTelemetry. It follows the semantic conventions for messaging, and makes spans with
 * whatever SDK is registered; without one it does nothing.
 */
export function otelTracing(options?: OtelTracingOptions): Tracing {
  return new OtelTracing(options)
}

class OtelTracing implements Tracing {
  readonly #tracer: Tracer
  readonly #masks: Masks
  readonly #asksSampler: boolean
  readonly #stations = new WeakMap<TracedConsumer, TrailPlan>()
  readonly #calls = new WeakMap<TracedFunction, TrailPlan>()
  /** Much is tracked in one span. */
  #latest: { readonly at: SpanContext; readonly headers: LazaretEvent['headers'] } | undefined

  constructor(options: OtelTracingOptions | undefined) {
    const { tracerProvider = trace.getTracerProvider(), masks, unsampled } = resolveTracing(options)
    this.#tracer = tracerProvider.getTracer(SCOPE)
    this.#masks = masks
    this.#asksSampler = unsampled === 'ask'
  }

  publish(events: readonly LazaretEvent[], system: string): PublishSpan | undefined {
    if (events.length === 0) return undefined
    return beginPublish(events, system, this.#tools)
  }

  follow(event: LazaretEvent, at: TracedConsumer): AttemptTrace {
    const { headers } = event
    const header = headers[TRACEPARENT]
    if (!this.#asksSampler && header !== undefined && looksUnsampled(header) && !repeats(event))
      return new UnsampledTrail(headers)
    const isAgain = isReplay(event)
    const current = repeats(event) ? undefined : contextOf(headers)
    return new SpanTrail(this.#planOf(at), {
      event,
      parent: current && trace.setSpanContext(ROOT_CONTEXT, current),
      links: isAgain ? linksOf([originalContextOf(headers)]) : [],
      attributes: () => eventAttributes(event),
      forSampler: isAgain ? replayAttributes(event) : NOTHING,
    })
  }

  call(what: TracedFunction): AttemptTrace | undefined {
    const active = context.active()
    if (!trace.getSpan(active)?.isRecording()) return undefined
    let plan = this.#calls.get(what)
    if (plan === undefined) {
      plan = callSpans(what.name, this.#tools)
      this.#calls.set(what, plan)
    }
    return new SpanTrail(plan, { parent: active, links: [], attributes: nothing, forSampler: NOTHING })
  }

  write(batch: readonly LazaretEvent[], sink: string): TraceSpan | undefined {
    const { first, all } = sampledContexts(batch)
    if (all.length === 0) return undefined
    const name = `send ${sink}`
    const parent = first === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, first)
    const span = this.#tracer.startSpan(name, { kind: SpanKind.CLIENT, links: linksOf(all) }, parent)
    if (span.isRecording())
      span.setAttributes({
        [MESSAGING.system]: SCOPE,
        [MESSAGING.operationName]: 'send',
        [MESSAGING.operationType]: 'send',
        [MESSAGING.destination]: sink,
        [MESSAGING.batchCount]: batch.length,
      })
    return new SpanStep(span, this.#masks)
  }

  context(): LazaretEvent['headers'] | undefined {
    const at = trace.getSpanContext(context.active())
    if (at === undefined) return undefined
    if (this.#latest?.at === at) return this.#latest.headers
    if (!isSpanContextValid(at)) return undefined
    const headers = Object.freeze(withContext(undefined, at))
    this.#latest = { at, headers }
    return headers
  }

  get #tools() {
    return { tracer: this.#tracer, masks: this.#masks, asksSampler: this.#asksSampler }
  }

  #planOf(at: TracedConsumer): TrailPlan {
    let plan = this.#stations.get(at)
    if (plan === undefined) {
      plan = stationSpans(at, this.#tools)
      this.#stations.set(at, plan)
    }
    return plan
  }
}

interface SampledContexts {
  /** The context that the span of a write can belong to. */
  readonly first: SpanContext | undefined
  readonly all: readonly SpanContext[]
}

/** The contexts of the sampled events. Most batches have none. */
function sampledContexts(batch: readonly LazaretEvent[]): SampledContexts {
  const all: SpanContext[] = []
  let first: SpanContext | undefined
  for (const event of batch) {
    const { headers } = event
    const header = headers[TRACEPARENT]
    if (header === undefined || looksUnsampled(header)) continue
    const at = contextOf(headers)
    if (at === undefined || !isSampled(at)) continue
    if (!repeats(event)) first ??= at
    if (all.push(at) >= MAX_LINKS) break
  }
  return { first, all }
}
