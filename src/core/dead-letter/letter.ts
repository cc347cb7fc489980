import type { JsonValue, LazaretEvent } from '../event/event.ts'
import type { Category } from '../failure/failure.ts'
import type { Fingerprint } from '../failure/fingerprint.ts'
import type { Reason } from './reason.ts'
import type { LetterState } from './state.ts'

/** What is kept of the failure of one attempt; the cycle's own failure tells the rest. */
export interface AttemptFailure {
  readonly name: string
  readonly message: string
  readonly code: string | undefined
  readonly category: Category
  /** The fingerprint's id. */
  readonly fingerprint: string
  readonly stack?: string | undefined
}

/** One attempt of an event, as a dead letter keeps it. */
export interface AttemptRecord {
  /** 1 is the first attempt of its cycle. */
  readonly number: number
  readonly startedAt: number
  /** Undefined: it never ended, the process died under it. */
  readonly endedAt: number | undefined
  readonly failure: AttemptFailure | undefined
  /** The wait chosen after it; undefined when nothing was to follow. */
  readonly delayMs: number | undefined
}

/** With the whole fingerprint, so that a person can see why two failures were grouped. */
export interface CycleFailure extends Omit<AttemptFailure, 'fingerprint'> {
  readonly fingerprint: Fingerprint
}

/** One cycle of the event: from its publishing or replay to the failure that saved the letter. */
export interface Cycle {
  /** 0 is the event's first cycle, n its nth replay. */
  readonly number: number
  readonly reason: Reason
  readonly category: Category
  /** Undefined when no attempt was made, as when a limiter refused the event. */
  readonly failure: CycleFailure | undefined
  /** The first and the latest; `attemptCount` tells how many there were. */
  readonly attempts: readonly AttemptRecord[]
  readonly attemptCount: number
  readonly firstFailedAt: number
  readonly lastFailedAt: number
  /** The replay that began this cycle, and who ran it. */
  readonly replayId?: string | undefined
  readonly replayedBy?: string | undefined
  /**
   * The event says that it is this replay, and the letter could not be read to check that. Only letters in a spill say so: it
   * is checked before their store gets them.
   */
  readonly isUnverified?: true | undefined
  /** Other replays that failures of an unverified cycle say they are of: at most one of them is the real one. */
  readonly otherReplayIds?: readonly string[] | undefined
  /** When the next cycle began to fail; undefined for the current one. */
  readonly endedAt?: number | undefined
}

/** The origin of the event, as precisely as the broker knows it, so that a replay can return the event there. */
export interface Origin {
  readonly broker?: string | undefined
  readonly queue?: string | undefined
  readonly exchange?: string | undefined
  readonly routingKey?: string | undefined
  readonly topic?: string | undefined
  readonly partition?: number | undefined
  /** A string where the number may be beyond 2^53. */
  readonly offset?: number | string | undefined
  readonly [name: string]: number | string | undefined
}

/**
 * An event that was given up on. Its identity is (channel, handler, event id): a replay that fails comes back to the
 * same letter as its next cycle, never as a second letter.
 */
export interface DeadLetter {
  readonly v: 1
  readonly id: string
  readonly channel: string
  /** The handler or sink that gave up. */
  readonly handler: string
  /** The whole event as it was in its first cycle; an edited replay does not change it. */
  readonly event: LazaretEvent
  readonly origin: Origin
  readonly state: LetterState
  readonly cycle: Cycle
  /** The first and the latest, in order; `droppedCycles` tells how many at least are left out between them. */
  readonly endedCycles: readonly Cycle[]
  readonly droppedCycles: number
  /** How often it was sent again, and the replay that did so last. */
  readonly replays: number
  readonly replayId?: string | undefined
  readonly createdAt: number
  readonly updatedAt: number
  /** Undefined: never. */
  readonly expiresAt?: number | undefined
  /** What belongs to the reason, such as the limit and the time of `rate_limited`. */
  readonly detail?: Readonly<Record<string, JsonValue>> | undefined
  /** The background job it was tracked from. */
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
