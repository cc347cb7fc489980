import { elapsedOf } from '../../core/attempt/elapsed.ts'
import type { AttemptRecord, DeadLetter } from '../../core/dead-letter/letter.ts'
import type { Reason } from '../../core/dead-letter/reason.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import { type EventReplay, replayOf } from '../../core/event/replay-headers.ts'
import { identityOf } from '../../core/event/source-and-id.ts'
import type { Failure } from '../../core/failure/failure.ts'
import { hash128 } from '../../core/hash.ts'
import type { CycleHistory } from '../../core/poison/poison.ts'
import type { Delivery, Undecodable } from '../../ports/broker.ts'
import { type Clock, monotonicNow } from '../../ports/clock.ts'
import {
  type AttemptTrace,
  ignoreErrors,
  type TracedConsumer,
  type TraceSpan,
  type Tracing,
} from '../../ports/tracing.ts'
import type { Attempt } from '../attempt/attempt.ts'
import type { Breaker } from '../breaker.ts'
import type { HandlerContext } from './handler-context.ts'

/** Why an event is given up on without an attempt. */
export interface Refusal {
  readonly reason: Reason
  readonly thrown: unknown
}

/** A failed attempt, once its failure is classified. */
export interface FailedAttempt {
  readonly thrown: unknown
  readonly failure: Failure
  readonly attempt: number
  readonly startedAt: number
  readonly at: number
}

/** A delivery that the caller can take back: the signal aborts then. The deliveries of brokers have none. */
export interface WithdrawableDelivery extends Delivery {
  readonly signal?: AbortSignal | undefined
}

const NONE: readonly AttemptRecord[] = Object.freeze([])

/** One delivery in a consumer, with its attempts and its checks so far. */
export class Work {
  readonly delivery: Delivery
  /** The event as it was published. A dead letter keeps this form. */
  readonly event: LazaretEvent
  /** The event for the next run of the schema or the handler, see `inputOf` of the policy. With what the schema returned. */
  input: LazaretEvent
  /** Undefined for an event that is not a replay. */
  readonly replayed: EventReplay | undefined
  started: number
  ended: number
  /** The same array as in the delivery, until an attempt fails here. */
  history: readonly AttemptRecord[]
  /** Attempts that ended in this process and that the broker has not recorded yet. */
  unrecorded: readonly AttemptRecord[] = NONE
  /** The event passed its checks. They run once for a delivery, and before every attempt if it has a schema. */
  isChecked = false
  /** The answer of an async schema, until an attempt has awaited it. It never rejects. */
  validation: Promise<Refusal | undefined> | undefined = undefined
  /** The retry limit has given the delivery a turn that is valid now. */
  hasTurn = false
  /** The trace of the event, or `none` if the tracing follows no such event. Undefined until the tracing was asked. */
  trail: AttemptTrace | 'none' | undefined = undefined

  /** The epoch of an admitted attempt that is not settled with the breaker yet. */
  epoch: number | undefined = undefined

  /** The attempt in progress, and the `Handling` that started it. */
  attempt: Attempt<HandlerContext> | undefined = undefined
  owner: object | undefined = undefined

  /** The time at which the handler ended. It is set only until the next wait, and saves a second reading of the clock. */
  endedAt: number | undefined = undefined

  /** The first attempt of this delivery, and the time since the first of the event. Set only if the policy limits that time. */
  #began: { readonly steadyAt: number; readonly elapsedMs: number } | undefined

  /** Aborts when the caller withdraws the delivery; undefined if nobody can. */
  readonly signal: AbortSignal | undefined

  constructor(delivery: WithdrawableDelivery) {
    this.delivery = delivery
    this.signal = delivery.signal
    this.event = isUndecodable(delivery.content)
      ? placeholderEvent(delivery, delivery.content)
      : delivery.content
    this.input = this.event
    this.replayed = replayOf(this.event)
    this.started = delivery.started
    this.ended = delivery.ended
    this.history = delivery.history
  }

  /** Two runs with the same identity are of the same event. */
  get identity(): string {
    return identityOf(this.event)
  }

  /** The caller does not wait for the delivery any more, so no further attempt starts. */
  get isWithdrawn(): boolean {
    return this.signal?.aborted === true
  }

  /** Which replay of the event this is; 0 for its first cycle. */
  get replay(): number {
    return this.replayed?.attempt ?? 0
  }

  /** Measures what follows by the clock that never steps. */
  measureElapsed(clock: Clock, startedAt: number): void {
    this.#began ??= {
      steadyAt: monotonicNow(clock),
      elapsedMs: elapsedOf(this.history, startedAt, startedAt),
    }
  }

  /** Since the first attempt of the event started. The attempts of earlier deliveries have only the wall clock in common. */
  elapsedMs(clock: Clock, startedAt: number, now: number): number {
    if (this.#began === undefined) return elapsedOf(this.history, startedAt, now)
    return this.#began.elapsedMs + monotonicNow(clock) - this.#began.steadyAt
  }

  get previousDelayMs(): number {
    return this.history.at(-1)?.delayMs ?? 0
  }

  record(attempt: AttemptRecord): void {
    this.ended++
    this.history = this.history.length === 0 ? [attempt] : [...this.history, attempt]
    this.unrecorded = this.unrecorded.length === 0 ? [attempt] : [...this.unrecorded, attempt]
  }

  takeUnrecorded(): readonly AttemptRecord[] {
    const { unrecorded } = this
    this.unrecorded = NONE
    return unrecorded
  }

  /** Settles an attempt with the breaker at most once, because the breaker counts probes in flight. */
  takeEpoch(): number | undefined {
    const { epoch } = this
    this.epoch = undefined
    return epoch
  }

  /** The history for the poison decision, with the latest failure if there is one. */
  cycleHistory(latest?: { readonly failure: Failure; readonly at: number }): CycleHistory {
    const attempts: CycleHistory['attempts'][number][] = []
    for (const { failure, endedAt, startedAt } of this.history)
      if (failure !== undefined)
        attempts.push({
          at: endedAt ?? startedAt,
          fingerprint: failure.fingerprint,
          category: failure.category,
        })
    if (latest !== undefined) {
      const { failure, at } = latest
      attempts.push({ at, fingerprint: failure.fingerprint.id, category: failure.category })
    }
    return { attempts, started: this.started, ended: this.ended + (latest === undefined ? 0 : 1) }
  }
}

/** Traces the events of a consumer. */
export class Trails {
  readonly #tracing: Tracing
  readonly #at: TracedConsumer
  readonly #clock: Clock

  constructor(tracing: Tracing, at: TracedConsumer, clock: Clock) {
    this.#tracing = tracing
    this.#at = at
    this.#clock = clock
  }

  /** Starts the span of an attempt. Call it after `started` counts the attempt. */
  attempt(work: Work, startedAt: number): TraceSpan | undefined {
    const trail = this.#trailOf(work)
    if (trail === undefined) return undefined
    const latest = work.history.at(-1)
    // A crashed attempt, or one that the bounded history dropped, has no known end.
    const previous = latest?.number === work.started - 1 ? latest : undefined
    return ignoreErrors(() => trail.attempt(work.started, startedAt, previous))
  }

  dead(work: Work, letter: DeadLetter): void {
    const trail = this.#trailOf(work)
    if (trail !== undefined) ignoreErrors(() => trail.dead(letter, this.#clock.now()))
  }

  /** Asks the tracing once for each delivery. */
  #trailOf(work: Work): AttemptTrace | undefined {
    work.trail ??= ignoreErrors(() => this.#tracing.follow(work.event, this.#at)) ?? 'none'
    return work.trail === 'none' ? undefined : work.trail
  }
}

/** Tells the breaker that an admitted attempt says nothing about the dependency. */
export function withdraw(breaker: Breaker | undefined, work: Work, now: number): void {
  const epoch = work.takeEpoch()
  if (epoch !== undefined) breaker?.settle(epoch, 'ignored', now)
}

export function isUndecodable(content: LazaretEvent | Undecodable): content is Undecodable {
  return 'raw' in content
}

const CHUNK_BYTES = 4_096

/**
 * Stands for an undecodable message. Each delivery of the message must give the same id, so that one letter is saved. So
 * the id depends on the origin, the id of the message and all its bytes, and not on the time.
 */
function placeholderEvent({ channel, origin }: Delivery, message: Undecodable): LazaretEvent {
  const { raw, messageId, headers = {} } = message
  let hash = hash128(JSON.stringify([origin, messageId]))
  for (let from = 0; from < raw.length; from += CHUNK_BYTES)
    hash = hash128(hash + String.fromCharCode(...raw.subarray(from, from + CHUNK_BYTES)))
  const id = `undecodable-${hash}`
  return {
    v: 1,
    id,
    type: 'undecodable',
    channel,
    key: undefined,
    idempotencyKey: id,
    occurredAt: 0,
    expiresAt: undefined,
    source: undefined,
    headers,
    payload: raw,
  }
}
