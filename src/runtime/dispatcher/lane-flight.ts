import type { Failure } from '../../core/failure/failure.ts'
import { endStep, quietly, runIn } from '../../ports/following.ts'
import type { RejectedItem, WriteResult } from '../../ports/sink.ts'
import type { Step } from '../../ports/tracing.ts'
import { Attempt } from '../attempt.ts'
import { AttemptContext } from '../attempt-context.ts'
import type { Item } from './lane-item.ts'
import type { LanePolicy } from './lane-policy.ts'
import type { Starts } from './lane-window.ts'

/** How a write ended: taken but for these, or not at all. */
export type WriteEnd =
  | { readonly ok: true; readonly rejected: readonly RejectedItem[] }
  | { readonly ok: false; readonly thrown: unknown }

const NONE: readonly RejectedItem[] = Object.freeze([])

export interface FlightPlan {
  readonly items: readonly Item[]
  /** Those of them that are retries, if any are, to be told of its end. */
  readonly retries: Starts | undefined
  /** The breaker's, to settle it with. */
  readonly epoch: number
  readonly startedAt: number
}

/** One write under way. It ends when the sink has answered, when its time is over, or when the lane is closed. */
export class Flight implements FlightPlan {
  readonly items: readonly Item[]
  readonly retries: Starts | undefined
  readonly epoch: number
  readonly startedAt: number
  readonly #attempt: Attempt
  readonly #policy: LanePolicy
  #step: Step | undefined

  constructor(policy: LanePolicy, { items, retries, epoch, startedAt }: FlightPlan) {
    this.#policy = policy
    this.items = items
    this.retries = retries
    this.epoch = epoch
    this.startedAt = startedAt
    const context = new AttemptContext((items[0]?.trouble?.attempts ?? 0) + 1)
    this.#attempt = new Attempt(context, policy.name, policy.timeoutMs, policy.deadlines)
  }

  async write(): Promise<WriteEnd> {
    const { sink, tracing, name } = this.#policy
    const events = this.items.map(item => item.tracked.event)
    this.#step = tracing && quietly(() => tracing.write(events, name))
    const step = this.#step
    // biome-ignore lint/suspicious/noConfusingVoidType: what a sink that refuses nothing returns
    let answer: WriteResult | void
    const end = await this.#attempt.run(async context => {
      answer = await (step === undefined
        ? sink.write(events, context)
        : runIn(step, () => sink.write(events, context)))
    }, this.startedAt)
    if (!end.ok) return end
    const rejected = answer?.rejected ?? NONE
    return isList(rejected) ? { ok: true, rejected } : { ok: false, thrown: nonsense(name) }
  }

  /** Told once it is known what its end means. */
  ended(failure?: Failure): void {
    if (this.#step !== undefined) endStep(this.#step, failure)
  }

  abort(reason: unknown): void {
    const step = this.#step
    if (step !== undefined) quietly(() => step.takenBack())
    this.#attempt.abort(reason)
  }
}

/** Sinks are written by others, and not all of them are type-checked. */
function isList(rejected: unknown): boolean {
  return Array.isArray(rejected) && rejected.every(item => typeof item === 'object' && item !== null)
}

/** What it has taken cannot be told, so all of it is sent again. */
function nonsense(name: string): TypeError {
  return new TypeError(
    `sink ${name}: 'rejected' is no list of { index, error }; let write return one, or nothing`,
  )
}
