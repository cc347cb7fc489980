import type { Attributes, Context, Link, Span, SpanKind, Tracer } from '@opentelemetry/api'
import { masksOfEvent } from '../../core/dead-letter/event-masks.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import type { Masks } from '../../core/dead-letter/masks.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import type { Failure } from '../../core/failure/failure.ts'
import type { AttemptTrace, EndedAttempt, TraceSpan } from '../../ports/tracing.ts'
import { ROOT_CONTEXT, trace } from './api.ts'
import { OWN, recordDeadLetter, recordFailure } from './attributes.ts'
import { SpanStep } from './span-step.ts'

/** The parts that all spans of a trail share. */
export interface TrailPlan {
  readonly tracer: Tracer
  readonly masks: Masks
  readonly attempt: SpanPlan
  readonly wait: SpanPlan
  readonly dead: SpanPlan
}

interface SpanPlan {
  readonly name: string
  readonly kind: SpanKind
  readonly attributes: Attributes
}

/** The facts about one event or call. */
interface TrailSubject {
  /** Undefined for a call. */
  readonly event?: LazaretEvent
  /** Undefined if no trace is known. Then the first attempt begins one. */
  readonly parent: Context | undefined
  readonly links: Link[]
  /** Called only for spans that are recorded. */
  readonly attributes: () => Attributes
  /** Attributes for the sampler, before it is known whether a span is recorded. */
  readonly forSampler: Attributes
}

/** The spans of one event or call. They are siblings, because after a restart only their common parent is known. */
export class SpanTrail implements AttemptTrace {
  readonly #plan: TrailPlan
  readonly #followed: TrailSubject
  #parent: Context | undefined

  constructor(plan: TrailPlan, toPublishing: TrailSubject) {
    this.#plan = plan
    this.#followed = toPublishing
    this.#parent = toPublishing.parent
  }

  attempt(number: number, startedAt: number, previous: EndedAttempt | undefined): TraceSpan {
    const span = this.#start(this.#plan.attempt)
    this.#parent ??= trace.setSpan(ROOT_CONTEXT, span)
    if (span.isRecording()) span.setAttribute(OWN.attempt, number)
    if (previous?.endedAt !== undefined) this.#waited(previous.endedAt, startedAt, previous.delayMs, number)
    return new SpanStep(span, this.#plan.masks, this.#followed.event)
  }

  failed(number: number, startedAt: number, endedAt: number, failure: Failure): void {
    const span = this.#start(this.#plan.attempt, startedAt)
    if (span.isRecording()) {
      span.setAttribute(OWN.attempt, number)
      recordFailure(span, failure, masksOfEvent(this.#followed.event, this.#plan.masks))
    }
    span.end(Math.max(startedAt, endedAt))
  }

  dead(letter: DeadLetter, now: number): void {
    const since = letter.updatedAt
    const span = this.#start(this.#plan.dead, since)
    if (span.isRecording()) recordDeadLetter(span, letter, this.#plan.masks)
    span.end(Math.max(since, now))
  }

  /** Known only now that it is over; the clocks of two processes may differ. */
  #waited(since: number, until: number, delayMs: number | undefined, number: number): void {
    const span = this.#start(this.#plan.wait, since)
    if (span.isRecording()) {
      span.setAttribute(OWN.attempt, number)
      if (delayMs !== undefined) span.setAttribute(OWN.delayMs, delayMs)
    }
    span.end(Math.max(since, until))
  }

  #start({ name, kind, attributes }: SpanPlan, startTime?: number): Span {
    const { links, forSampler } = this.#followed
    const options = { kind, links, attributes: forSampler, ...(startTime === undefined ? {} : { startTime }) }
    const span = this.#plan.tracer.startSpan(name, options, this.#parent ?? ROOT_CONTEXT)
    if (span.isRecording()) {
      span.setAttributes(attributes)
      span.setAttributes(this.#followed.attributes())
    }
    return span
  }
}
