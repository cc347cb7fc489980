// What every dead-letter store means by a timeline.
import { resolveOptions } from '../../core/options/resolve.ts'
import { integer, milliseconds, number } from '../../core/options/rules.ts'
import type { LetterFilter, TimelineSpan } from '../../ports/dead-letters.ts'
import { resolveLetterFilter } from './letter-query.ts'

const MAX_BUCKETS = 1_000

const rules = {
  from: number(),
  bucketMs: milliseconds({ min: 1 }),
  buckets: integer({ min: 1, max: MAX_BUCKETS }),
}

/** The filter narrowed to the span, which is then counted by its buckets. */
export function resolveTimeline(filter: LetterFilter, span: TimelineSpan) {
  const { from, bucketMs, buckets } = resolveOptions('timeline', rules, span)
  const wanted = resolveLetterFilter(filter)
  const end = from + bucketMs * buckets
  const within = {
    ...wanted,
    after: Math.max(from, wanted.after ?? from),
    before: Math.min(end, wanted.before ?? end),
  }
  return { filter: within, span: { from, bucketMs, buckets } }
}

/** Counts times into buckets. */
export class Timeline {
  readonly #span: TimelineSpan
  readonly counts: number[]

  constructor(span: TimelineSpan) {
    this.#span = span
    this.counts = new Array<number>(span.buckets).fill(0)
  }

  add(at: number): void {
    const { from, bucketMs } = this.#span
    const bucket = Math.floor((at - from) / bucketMs)
    const count = this.counts[bucket]
    if (count !== undefined) this.counts[bucket] = count + 1
  }
}
