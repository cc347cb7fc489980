import {
  context,
  isSpanContextValid,
  ROOT_CONTEXT,
  type SpanContext,
  SpanKind,
  type Tracer,
  trace,
} from '@opentelemetry/api'
import type { Masks } from '../../core/dead-letter/masks.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import { isSampled, TRACEPARENT } from '../../core/event/trace-context.ts'
import type { Publishing, Station, Step, Tracing, Trail } from '../../ports/tracing.ts'
import { eventAttributes, MESSAGING, replayAttributes } from './attributes.ts'
import { contextIn, hasOwnTrace, isReplay, originalIn, withContext } from './headers.ts'
import { type OtelTracingOptions, resolveTracing } from './options.ts'
import { planOfCall, planOfStation } from './places.ts'
import { beginPublish, linksOf, MOST_LINKS } from './publishing.ts'
import { SpanStep } from './span-step.ts'
import { PassingTrail, SpanTrail, type TrailPlan } from './trail.ts'

const SCOPE = 'lazaret'
const NOTHING = Object.freeze({})

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
  readonly #asksAlways: boolean
  readonly #stations = new WeakMap<Station, TrailPlan>()
  /** Much is tracked in one span, and most of it has no headers of its own. */
  #carried: { readonly at: SpanContext; readonly headers: LazaretEvent['headers'] } | undefined

  constructor(options: OtelTracingOptions | undefined) {
    const { tracerProvider = trace.getTracerProvider(), masks, unsampled } = resolveTracing(options)
    this.#tracer = tracerProvider.getTracer(SCOPE)
    this.#masks = masks
    this.#asksAlways = unsampled === 'ask'
  }

  publish(events: readonly LazaretEvent[], system: string): Publishing | undefined {
    if (events.length === 0) return undefined
    return beginPublish(events, system, this.#tools)
  }

  follow(event: LazaretEvent, at: Station): Trail {
    const { headers } = event
    const isAgain = isReplay(headers)
    const current = isAgain && !hasOwnTrace(headers) ? undefined : contextIn(headers)
    const parent = current && trace.setSpanContext(ROOT_CONTEXT, current)
    if (parent !== undefined && !isSampled(current!) && !this.#asksAlways) return new PassingTrail(parent)
    return new SpanTrail(this.#planOf(at), {
      parent,
      links: isAgain ? linksOf([originalIn(headers)]) : [],
      attributes: () => eventAttributes(event),
      forSampler: isAgain ? replayAttributes(headers) : NOTHING,
    })
  }

  call(name: string): Trail | undefined {
    const active = context.active()
    if (!trace.getSpan(active)?.isRecording()) return undefined
    const plan = planOfCall(name, this.#tools)
    return new SpanTrail(plan, { parent: active, links: [], attributes: () => NOTHING, forSampler: NOTHING })
  }

  write(batch: readonly LazaretEvent[], sink: string): Step | undefined {
    const kept = keptContexts(batch)
    const [first] = kept
    if (first === undefined) return undefined
    const name = `send ${sink}`
    const parent = trace.setSpanContext(ROOT_CONTEXT, first)
    const span = this.#tracer.startSpan(name, { kind: SpanKind.CLIENT, links: linksOf(kept) }, parent)
    if (span.isRecording())
      span.setAttributes({
        [MESSAGING.system]: SCOPE,
        [MESSAGING.operationName]: 'send',
        [MESSAGING.operationType]: 'send',
        [MESSAGING.destination]: sink,
        [MESSAGING.batchCount]: batch.length,
      })
    return new SpanStep(span, trace.setSpan(context.active(), span), this.#masks)
  }

  carry(headers: LazaretEvent['headers'] | undefined): LazaretEvent['headers'] | undefined {
    if (headers?.[TRACEPARENT] !== undefined) return headers
    const at = trace.getSpanContext(context.active())
    if (at === undefined) return headers
    if (headers === undefined && this.#carried?.at === at) return this.#carried.headers
    if (!isSpanContextValid(at)) return headers
    const carried = withContext(headers, at)
    if (headers === undefined) this.#carried = { at, headers: carried }
    return carried
  }

  get #tools() {
    return { tracer: this.#tracer, masks: this.#masks, asksAlways: this.#asksAlways }
  }

  #planOf(at: Station): TrailPlan {
    let plan = this.#stations.get(at)
    if (plan === undefined) {
      plan = planOfStation(at, this.#tools)
      this.#stations.set(at, plan)
    }
    return plan
  }
}

/** Of those events that somebody follows; most batches have none. */
function keptContexts(batch: readonly LazaretEvent[]): SpanContext[] {
  const kept: SpanContext[] = []
  for (const { headers } of batch) {
    if (headers[TRACEPARENT] === undefined) continue
    const at = contextIn(headers)
    if (at !== undefined && isSampled(at) && kept.push(at) >= MOST_LINKS) break
  }
  return kept
}
