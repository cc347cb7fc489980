import type { Failure } from '../../../core/failure/failure.ts'
import { monotonicNow } from '../../../ports/clock.ts'
import type { RejectedItem } from '../../../ports/sink.ts'
import { discardSpan, endSpan, ignoreErrors, runInSpan, type TraceSpan } from '../../../ports/tracing.ts'
import { Attempt, AttemptContext } from '../../attempt/attempt.ts'
import type { Starts } from '../after/retry-window.ts'
import type { Item } from '../lane/item.ts'
import type { LanePolicy } from '../lane/lane-options.ts'
import { rejectedItems } from './sink-answer.ts'

/** How a write ended: taken but for these, or not at all. */
export type WriteEnd =
  | { readonly ok: true; readonly rejected: readonly RejectedItem[] }
  | { readonly ok: false; readonly thrown: unknown }

/** One write under way. It ends when the sink has answered, when its time is over, or when the lane is closed. */
export class Write {
  readonly items: readonly Item[]
  /** Receives the end of the write for the retries among its items. */
  readonly retries: Starts | undefined
  /** The breaker's, to settle it with. */
  readonly epoch: number
  readonly startedAt: number
  /** By the clock that never steps; undefined unless the policy limits the time of all attempts. */
  readonly startedSteadyAt: number | undefined
  readonly #attempt: Attempt
  readonly #policy: LanePolicy
  #closing: AbortController | undefined
  #step: TraceSpan | undefined
  #answer: unknown

  constructor(
    policy: LanePolicy,
    items: readonly Item[],
    retries: Starts | undefined,
    epoch: number,
    startedAt: number,
  ) {
    this.#policy = policy
    this.items = items
    this.retries = retries
    this.epoch = epoch
    this.startedAt = startedAt
    this.startedSteadyAt = policy.retry.maxElapsedMs === undefined ? undefined : monotonicNow(policy.clock)
    const context = new AttemptContext((items[0]?.failures?.attempts ?? 0) + 1)
    this.#attempt = new Attempt(context, policy.name, policy.timeoutMs, policy.deadlines)
  }

  async run(): Promise<WriteEnd> {
    const { sink, tracing, name } = this.#policy
    const events = this.items.map(item => item.tracked.event)
    this.#step = tracing && ignoreErrors(() => tracing.write(events, name))
    const step = this.#step
    const end = await this.#attempt.run(async context => {
      this.#answer = await (step === undefined
        ? sink.write(events, context)
        : runInSpan(step, () => sink.write(events, context)))
    }, this.startedAt)
    return end.ok ? this.#answered() : end
  }

  /** The signal of the write aborted and the sink continued, or ended after that. */
  get isLate(): boolean {
    return this.#attempt.isRunning || this.#attempt.late !== undefined
  }

  /** How a write that runs on after its timeout ends; undefined if it fails, or does not end within `lateMs`. */
  async lateEnd(): Promise<WriteEnd | undefined> {
    const { clock, lateMs } = this.#policy
    this.#closing = new AbortController()
    const how = await this.#attempt.lateEnd(clock, lateMs, this.#closing.signal)
    return how === 'succeeded' ? this.#answered() : undefined
  }

  #answered(): WriteEnd {
    try {
      return { ok: true, rejected: rejectedItems(this.#policy.name, this.#answer, this.items.length) }
    } catch (thrown) {
      return { ok: false, thrown }
    }
  }

  /** Ends its step of the trace, once its end is classified. */
  ended(failure?: Failure): void {
    if (this.#step !== undefined) endSpan(this.#step, failure)
  }

  abort(reason: unknown): void {
    if (this.#step !== undefined) discardSpan(this.#step)
    this.#attempt.abort(reason)
    this.#closing?.abort()
  }
}
