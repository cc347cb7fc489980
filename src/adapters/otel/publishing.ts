import type { Attributes, Context, Link, SpanContext, Tracer } from '@opentelemetry/api'
import type { Masks } from '../../core/dead-letter/masks.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import { REPLAY_HEADERS } from '../../core/event/replay-headers.ts'
import { formatTraceparent, isSampled } from '../../core/event/trace-context.ts'
import type { PublishSpan } from '../../ports/tracing.ts'
import { context, isSpanContextValid, ROOT_CONTEXT, SpanKind, trace } from './api.ts'
import { eventAttributes, MESSAGING, replayAttributes } from './attributes.ts'
import { contextOf, originalContextOf, repeats, withContext } from './headers.ts'
import { SpanStep } from './span-step.ts'

/** A span has no use for more: a batch may be of any size. */
export const MAX_LINKS = 64

interface PublishTools {
  readonly tracer: Tracer
  readonly masks: Masks
  /** Whether the sampler still decides about traces that are not sampled. */
  readonly asksSampler: boolean
}

/** An event to be published, and what its headers say. */
interface Outgoing {
  readonly event: LazaretEvent
  /** The event is replayed. It gets a new context with a link to the old one, if that is known. */
  readonly repeats: boolean
  /** The context of the event, or the one that it linked to. */
  readonly known: SpanContext | undefined
}

/** Starts the span of a publish; undefined if an outer publish already has one. */
export function beginPublish(
  events: readonly LazaretEvent[],
  system: string,
  tools: PublishTools,
): PublishSpan | undefined {
  const active = trace.getSpanContext(context.active())
  const outgoing = events.map(outgoingOf)
  if (outgoing.every(({ known, repeats }) => !repeats && known !== undefined && isAt(known, active)))
    return undefined
  const isReplayed = outgoing.every(({ repeats }) => repeats)
  const parent = isReplayed ? ROOT_CONTEXT : parentOf(outgoing, active)
  const parentSpan = trace.getSpanContext(parent)
  if (parentSpan !== undefined && !isSampled(parentSpan) && !tools.asksSampler)
    return unsampledPublishing(outgoing.map(each => sent(each, parentSpan)))
  const isContextUsed = outgoing.some(({ repeats, known }) => repeats || known === undefined)
  const { name, attributes } = publishSpan(events, system)
  const span = tools.tracer.startSpan(
    name,
    {
      kind: isContextUsed ? SpanKind.PRODUCER : SpanKind.CLIENT,
      links: linksOf(outgoing.map(({ known }) => known)),
      attributes: isReplayed && events.length === 1 ? replayAttributes(events[0]!) : {},
    },
    parent,
  )
  if (span.isRecording()) span.setAttributes(attributes())
  const at = span.spanContext()
  const step = new SpanStep(span, tools.masks)
  return toPublishing(step, isSpanContextValid(at) ? outgoing.map(each => sent(each, at)) : events)
}

export function linksOf(contexts: readonly (SpanContext | undefined)[]): Link[] {
  const links: Link[] = []
  for (const at of contexts) {
    if (links.length >= MAX_LINKS) break
    if (at !== undefined) links.push({ context: at })
  }
  return links
}

function outgoingOf(event: LazaretEvent): Outgoing {
  const { headers } = event
  return repeats(event)
    ? { event, repeats: true, known: originalContextOf(headers) }
    : { event, repeats: false, known: contextOf(headers) }
}

/** The trace of the publisher; without one, the trace in the headers of a single event. */
function parentOf(outgoing: readonly Outgoing[], active: SpanContext | undefined): Context {
  const [first] = outgoing
  const isLone = active === undefined && outgoing.length === 1 && first?.known !== undefined
  return isLone ? trace.setSpanContext(ROOT_CONTEXT, first.known!) : context.active()
}

function isAt(one: SpanContext, other: SpanContext | undefined): boolean {
  return one.spanId === other?.spanId && one.traceId === other.traceId
}

/**
 * An event keeps its context, because that is its origin. A replay gets a new context, and keeps the old one in another
 * header.
 */
function sent({ event, repeats, known }: Outgoing, at: SpanContext): LazaretEvent {
  if (!repeats) return known === undefined ? { ...event, headers: withContext(event.headers, at) } : event
  const headers = withContext(event.headers, at)
  if (known === undefined) return { ...event, headers }
  return { ...event, headers: { ...headers, [REPLAY_HEADERS.originalTraceparent]: formatTraceparent(known) } }
}

function publishSpan(
  events: readonly LazaretEvent[],
  system: string,
): { readonly name: string; readonly attributes: () => Attributes } {
  const [first] = events
  const channel = events.every(event => event.channel === first?.channel) ? first?.channel : undefined
  return {
    name: channel === undefined ? 'send' : `send ${channel}`,
    attributes: () => ({
      [MESSAGING.system]: system,
      [MESSAGING.operationName]: 'send',
      [MESSAGING.operationType]: 'send',
      ...(channel === undefined ? {} : { [MESSAGING.destination]: channel }),
      ...(events.length === 1 ? eventAttributes(first!) : { [MESSAGING.batchCount]: events.length }),
    }),
  }
}

function toPublishing(step: SpanStep, events: readonly LazaretEvent[]): PublishSpan {
  return {
    events,
    run: work => step.run(work),
    end: failure => step.end(failure),
    discard: () => step.discard(),
  }
}

/** The trace is not sampled, so the events only carry it on. */
function unsampledPublishing(events: readonly LazaretEvent[]): PublishSpan {
  return { events, run: work => work(), end() {}, discard() {} }
}
