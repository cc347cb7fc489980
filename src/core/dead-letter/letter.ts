import type { JsonValue, LazaretEvent } from '../event/event.ts'
import type { Category } from '../failure/failure.ts'
import type { Fingerprint } from '../failure/fingerprint.ts'
import type { Reason } from './reason.ts'
import type { LetterState } from './state.ts'
import type { TimeToLive } from './time-to-live.ts'

/** The part of a failure that an attempt keeps. The failure of the cycle has the full fingerprint. */
export interface AttemptFailure {
  readonly name: string
  readonly message: string
  readonly code: string | undefined
  readonly category: Category
  /** The id of the fingerprint. */
  readonly fingerprint: string
  readonly stack?: string | undefined
}

/** One attempt of an event, as a dead letter keeps it. */
export interface AttemptRecord {
  /** 1 is the first attempt of its cycle. */
  readonly number: number
  readonly startedAt: number
  /** Undefined if the process crashed during the attempt. */
  readonly endedAt: number | undefined
  readonly failure: AttemptFailure | undefined
  /** The wait before the next attempt; undefined if no attempt was to follow. */
  readonly delayMs: number | undefined
}

/** The failure of a cycle, with the whole fingerprint, so that a person can see why two failures are in one group. */
export interface CycleFailure extends Omit<AttemptFailure, 'fingerprint'> {
  readonly fingerprint: Fingerprint
}

/** One cycle of the event: from its publishing or replay to the failure that saved the letter. */
export interface Cycle {
  /** 0 is the event's first cycle, n its nth replay. */
  readonly number: number
  readonly reason: Reason
  readonly category: Category
  /** Undefined if no attempt was made, for example because a limiter refused the event. */
  readonly failure: CycleFailure | undefined
  /** The first attempt and the latest ones; `attemptCount` counts all of them. */
  readonly attempts: readonly AttemptRecord[]
  readonly attemptCount: number
  readonly firstFailedAt: number
  readonly lastFailedAt: number
  /** The replay that began this cycle, and the person who started it. */
  readonly replayId?: string | undefined
  readonly replayedBy?: string | undefined
  /**
   * The event claims to be this replay, and the letter could not be read to verify the claim. Only letters in a spill
   * have this field. The claim is verified before the letter moves to its store.
   */
  readonly isUnverified?: true | undefined
  /** Replay ids that other failures of an unverified cycle claim. At most one of them is real. */
  readonly otherReplayIds?: readonly string[] | undefined
  /** The time at which the next cycle first failed; undefined for the current cycle. */
  readonly endedAt?: number | undefined
}

/** The origin of the event, as precisely as the broker knows it, so that a replay can return the event there. */
export interface Origin {
  readonly broker?: string | undefined
  /** What the broker is, such as `rabbitmq`. Letters of earlier versions, and of brokers that do not say it, lack it. */
  readonly brokerKind?: string | undefined
  readonly queue?: string | undefined
  readonly exchange?: string | undefined
  readonly routingKey?: string | undefined
  readonly topic?: string | undefined
  readonly partition?: number | undefined
  /** A string if the number can exceed 2^53. */
  readonly offset?: number | string | undefined
  readonly [name: string]: number | string | undefined
}

/**
 * An event that Lazaret gave up on. Channel, handler and event id identify it: a replay that fails adds its cycle to the
 * same letter, and never creates a second letter.
 */
export interface DeadLetter {
  readonly v: 1
  readonly id: string
  readonly channel: string
  /** The handler or sink that gave up. */
  readonly handler: string
  /** The whole event of the first cycle. An edited replay does not change it. */
  readonly event: LazaretEvent
  readonly origin: Origin
  readonly state: LetterState
  readonly cycle: Cycle
  /**
   * The first ended cycle and the latest ones, in order. `droppedCycles` is the least number of cycles that are missing
   * between them.
   */
  readonly endedCycles: readonly Cycle[]
  readonly droppedCycles: number
  /** The number of replays, and the id of the latest one. */
  readonly replays: number
  readonly replayId?: string | undefined
  readonly createdAt: number
  readonly updatedAt: number
  /** Retention deletes the letter from this time on, unless it is replaying. Undefined if it has no such time. */
  readonly expiresAt?: number | undefined
  /**
   * The time to live that the policy of its consumer or dispatcher gave it, or 'never'. Undefined if no policy gave it one:
   * letters of collectors and of earlier versions.
   */
  readonly expiresAfterMs?: TimeToLive | undefined
  /** Automatic replay may send the letter, because the policy of its consumer or dispatcher says so. Otherwise undefined. */
  readonly autoReplay?: true | undefined
  /**
   * The ordering of the consumer that gave up. With `by-key`, later events of the key wait for the letter. Letters of sinks,
   * of other programs and of earlier versions do not say it.
   */
  readonly ordering?: 'none' | 'by-key' | undefined
  /** Facts that belong to the reason, such as the limit and the time of `rate_limited`. */
  readonly detail?: Readonly<Record<string, JsonValue>> | undefined
  /** Custom facts, as the option `metadata` of the consumer or dispatcher gave them. */
  readonly metadata?: Readonly<Record<string, JsonValue>> | undefined
  /** The background job that tracked the event. */
  readonly job?: string | undefined
  readonly release?: string | undefined
  readonly host?: string | undefined
}

/**
 * A `DeadLetter` or `Cycle` with every field, the optional ones too. Code that creates, reads or merges one says
 * `satisfies EveryField<…>`. Without that, the compiler accepts a literal that lacks a new optional field, and letters
 * lose the field without an error.
 */
export type EveryField<T, Except extends keyof T = never> = T &
  Readonly<Record<Exclude<keyof T, Except>, unknown>>
