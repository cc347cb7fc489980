import type { AttemptRecord, DeadLetter } from '../../core/dead-letter/letter.ts'
import type { Reason } from '../../core/dead-letter/reason.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import { type EventReplay, replayOf } from '../../core/event/replay-headers.ts'
import type { Failure } from '../../core/failure/failure.ts'
import { hash128 } from '../../core/hash.ts'
import type { CycleHistory } from '../../core/poison/poison.ts'
import type { Delivery, Undecodable } from '../../ports/broker.ts'
import type { Clock } from '../../ports/clock.ts'
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

/** A delivery on its way through a consumer, with what has happened to it since it was handed over. */
export class Work {
  readonly delivery: Delivery
  /** As it was sent: this is what a dead letter keeps. */
  readonly event: LazaretEvent
  /** The event for the handler: the same one, or with the payload that the schema returned. */
  input: LazaretEvent
  /** Undefined for an event that is not a replay. */
  readonly replayed: EventReplay | undefined
  started: number
  ended: number
  readonly history: AttemptRecord[]
  /** Attempts that ended in this process and that the broker has not recorded yet. */
  unrecorded: AttemptRecord[] = []
  /** Decoded, in time and of the right shape: found out once, not before every attempt. */
  isChecked = false
  /** The answer of an async schema that no attempt has got yet. It never rejects. */
  validation: Promise<Refusal | undefined> | undefined = undefined
  /** The retry limit has let it through, just now. */
  hasTurn = false
  /** Where it is followed, from the first time that is asked on. */
  trail: AttemptTrace | 'none' | undefined = undefined

  /** The epoch of an admitted attempt that is not settled with the breaker yet. */
  epoch: number | undefined = undefined

  /** The attempt under way, and the consumer that makes it. */
  attempt: Attempt<HandlerContext> | undefined = undefined
  owner: object | undefined = undefined

  /** When its handler ended, where that is known and nothing was waited for since: the clock need not be read again. */
  endedAt: number | undefined = undefined

  constructor(delivery: Delivery) {
    this.delivery = delivery
    this.event = isUndecodable(delivery.content)
      ? placeholderEvent(delivery, delivery.content)
      : delivery.content
    this.input = this.event
    this.replayed = replayOf(this.event)
    this.started = delivery.started
    this.ended = delivery.ended
    this.history = [...delivery.history]
  }

  /** Which replay of the event this is; 0 for its first cycle. */
  get replay(): number {
    return this.replayed?.attempt ?? 0
  }

  get firstStartedAt(): number | undefined {
    return this.history[0]?.startedAt
  }

  get previousDelayMs(): number {
    return this.history.at(-1)?.delayMs ?? 0
  }

  record(attempt: AttemptRecord): void {
    this.ended++
    this.history.push(attempt)
    this.unrecorded.push(attempt)
  }

  takeUnrecorded(): readonly AttemptRecord[] {
    const { unrecorded } = this
    if (unrecorded.length > 0) this.unrecorded = []
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
    const attempts = this.history.flatMap(({ failure, endedAt, startedAt }) =>
      failure === undefined ? [] : [failed(failure.fingerprint, failure.category, endedAt ?? startedAt)],
    )
    if (latest !== undefined)
      attempts.push(failed(latest.failure.fingerprint.id, latest.failure.category, latest.at))
    return { attempts, started: this.started, ended: this.ended + (latest === undefined ? 0 : 1) }
  }
}

/** Follows the events of a consumer. */
export class Trails {
  readonly #tracing: Tracing
  readonly #at: TracedConsumer
  readonly #clock: Clock

  constructor(tracing: Tracing, at: TracedConsumer, clock: Clock) {
    this.#tracing = tracing
    this.#at = at
    this.#clock = clock
  }

  /** An attempt that is about to begin and has been counted. */
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

  /** Asked once for each delivery. */
  #trailOf(work: Work): AttemptTrace | undefined {
    work.trail ??= ignoreErrors(() => this.#tracing.follow(work.event, this.#at)) ?? 'none'
    return work.trail === 'none' ? undefined : work.trail
  }
}

/** The attempt that the breaker admitted says nothing about the dependency. */
export function withdraw(breaker: Breaker | undefined, work: Work, now: number): void {
  const epoch = work.takeEpoch()
  if (epoch !== undefined) breaker?.settle(epoch, 'ignored', now)
}

function failed(fingerprint: string, category: Failure['category'], at: number) {
  return { at, fingerprint, sick: category === 'transient' || category === 'integration' }
}

export function isUndecodable(content: LazaretEvent | Undecodable): content is Undecodable {
  return 'raw' in content
}

/**
 * An undecodable message needs an identity that is the same at every delivery. So it
 * is made from what is known, and says nothing about when.
 */
function placeholderEvent({ channel, origin }: Delivery, { raw }: Undecodable): LazaretEvent {
  const id = `undecodable-${hash128(`${JSON.stringify(origin)}${String.fromCharCode(...raw.subarray(0, 4_096))}${raw.length}`)}`
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
    headers: {},
    payload: raw,
  }
}
