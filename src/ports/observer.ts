import type { BreakerMode } from '../core/breaker/state.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { Reason } from '../core/dead-letter/reason.ts'
import type { LazaretEvent } from '../core/event/event.ts'
import type { Failure } from '../core/failure/failure.ts'
import type { StalledPart } from './broker.ts'
import type { LetterCounts } from './dead-letters.ts'

/** Why a call or an event was given up on, in the words that a dead letter keeps as its reason. */
export type GiveUpReason =
  | 'permanent'
  | 'attempts_exhausted'
  | 'elapsed'
  | 'retry_budget'
  | 'retry_limited'
  | 'still_running'
  | 'rate_limited'
  | 'breaker_open'
  | 'poison'

/**
 * The one map of everything that can be observed. Logs, metrics, traces and tests are all fed from it. `name` is the
 * handler, sink or function that the observation is about.
 */
export interface Observations {
  callSucceeded: { readonly name: string; readonly attempts: number; readonly durationMs: number }
  /** It worked, and not at the first attempt. Told beside `callSucceeded`, and by consumers once it is settled. */
  retrySucceeded: { readonly name: string; readonly attempts: number }
  attemptFailed: { readonly name: string; readonly attempt: number; readonly failure: Failure }
  retryScheduled: {
    readonly name: string
    /** The number of the attempt that will be made. */
    readonly attempt: number
    readonly delayMs: number
    readonly delayFrom: 'policy' | 'retry-after'
  }
  gaveUp: {
    readonly name: string
    readonly attempts: number
    readonly reason: GiveUpReason
    readonly failure: Failure
    /** The event that was given up on; undefined for a call of `resilient()`. */
    readonly event?: LazaretEvent | undefined
  }
  timedOut: { readonly name: string; readonly attempt: number; readonly timeoutMs: number }
  breakerChanged: {
    readonly name: string
    readonly from: BreakerMode
    readonly to: BreakerMode
    readonly at: number
  }
  breakerRejected: { readonly name: string }
  rateLimited: { readonly name: string; readonly retryAt: number }
  retryLimited: { readonly name: string; readonly action: 'delay' | 'drop' | 'dead-letter' }
  /**
   * The retry limit let a retry start, at once or after the wait that `retryLimited` reported. In a dispatcher, an event
   * that waited for an open breaker needs a turn of the limit too.
   */
  retryAllowed: { readonly name: string }
  /**
   * A batch of retries was released: in a dispatcher by one write that carries `count` retries, everywhere else by a
   * retry limit in batch mode, with `count` of its slots used.
   */
  retryBatchReleased: { readonly name: string; readonly count: number }
  /** The shared limit is unreachable, so this member continues alone with its share; or the limit is reachable again. */
  sharedLimitChanged: {
    readonly name: string
    readonly limit: 'rate' | 'retry'
    readonly mode: 'alone' | 'together'
    /** The last known number of members that share the limit. */
    readonly members: number
  }
  budgetExhausted: { readonly name: string }

  /** A run of a consumer's handler has ended. Every attempt has one, also an attempt that is retried in process. */
  handlerEnded: {
    readonly channel: string
    readonly name: string
    readonly attempt: number
    readonly succeeded: boolean
    readonly durationMs: number
  }
  /**
   * A run of a consumer's handler outlived its timeout. `running`: its extra time (`lateMs`) is over too, and
   * another event takes its place while it continues; or its consumer has closed and the run continues. `succeeded`: its
   * event is handled after all. `failed`: reported only after `running`.
   */
  lateRun: {
    readonly channel: string
    readonly name: string
    readonly eventId: string
    readonly attempt: number
    readonly state: 'running' | 'succeeded' | 'failed'
    /** Since the attempt started. */
    readonly durationMs: number
  }
  /**
   * A ledger call failed or timed out. A failed `claim` pauses the consumer; the other operations do not: a
   * claim that is not released or renewed runs out by itself.
   */
  ledgerFailed: {
    readonly channel: string
    readonly name: string
    readonly operation: 'claim' | 'renew' | 'complete' | 'release'
    readonly error: unknown
  }
  /** Another process took the lease of a handler that still runs: the event may be handled twice. */
  claimLost: { readonly channel: string; readonly name: string; readonly eventId: string }
  /** A consumer has finished a delivery, with any outcome. */
  eventProcessed: {
    readonly channel: string
    readonly name: string
    readonly outcome: ProcessedOutcome
    readonly attempts: number
    readonly durationMs: number
  }
  consumerPaused: { readonly channel: string; readonly name: string; readonly reason: PauseReason }
  consumerResumed: { readonly channel: string; readonly name: string }
  /**
   * A function that was handed in as an option threw, rejected or answered something unusable. The documented fallback
   * was taken, and nothing is lost. Faults of the observer itself are counted in `health()` alone.
   */
  userFunctionFailed: {
    readonly name: string
    readonly function: UserFunction
    /** It may quote masked values of the event or the letter. `logObserver` hides them. */
    readonly error: unknown
    /** The event that the function was called for, if it was called for one. */
    readonly event?: LazaretEvent | undefined
    /** The letter that the function was called with: `autoReplay` and `notifier`. */
    readonly letter?: DeadLetter | undefined
  }
  /** A queue, table or permission of the broker is missing or full, so the subscription stalls. The broker keeps retrying. */
  subscriptionStalled: {
    readonly channel: string
    readonly name: string
    readonly place: StalledPart
    readonly error: unknown
  }
  subscriptionRecovered: { readonly channel: string; readonly name: string; readonly place: StalledPart }
  /** The broker did not take a settlement; it will hand the event over again. */
  settlementFailed: { readonly channel: string; readonly name: string; readonly error: unknown }
  poisonQuarantined: {
    readonly channel: string
    readonly name: string
    readonly by: 'repeats' | 'crashes'
    readonly letter: DeadLetter
  }
  /** A replay has durably handed the event of a letter on. */
  replaySent: {
    readonly channel: string
    /** The handler or sink that gave up on the event. */
    readonly name: string
    readonly letterId: string
    readonly replayId: string
  }
  /** A handler or sink was sent a replayed event: what became of it. */
  replayOutcome: {
    readonly channel: string
    readonly letterId: string
    readonly outcome: ReplayOutcome
  }
  /**
   * The runner of a replay has read the outcome of a letter from the store. The consumer that handled the event, in this or
   * another process, has already reported `replayOutcome`.
   */
  replayItemEnded: {
    readonly channel: string
    readonly letterId: string
    readonly replayId: string
    readonly status: 'recovered' | 'failed_same_cause' | 'failed_new_cause' | 'skipped'
    /** A schedule planned the replay and not a person. */
    readonly isAutomatic?: boolean | undefined
  }

  letterSaved: LetterObservation
  letterFiltered: { readonly channel: string; readonly name: string; readonly reason: Reason }
  /** Without a letter it is an UnreadableLetterError: a replay has ended, and its letter cannot be read. */
  letterWriteFailed: {
    readonly channel: string
    readonly name: string
    readonly error: unknown
    readonly letter?: DeadLetter | undefined
  }
  /** Letters that move to the store later are reported by `spillDrained` alone. */
  letterSpilled: LetterObservation
  spillDrained: {
    /** The letters that the store has now and the spill no longer holds. */
    readonly count: number
    /** The letters that are still in the spill. Absent if the spill is empty. */
    readonly left?: number | undefined
  }
  /**
   * A drain could not move every letter: the store refused some, or the spill could not read or remove some. They stay in the
   * spill, and the next drain tries again. `letterWriteFailed` also reports each letter that the store refused.
   */
  spillDrainFailed: {
    /** The letters that are still in the spill. */
    readonly left: number
    /** The last error of the drain. */
    readonly error: unknown
    /** The letter that the store refused with this error. Undefined for an error of the spill. */
    readonly letter: DeadLetter | undefined
  }
  /** Retention deleted letters from a store, which is named by its URL: one of each run that deleted any. */
  lettersExpired: { readonly store: string; readonly count: number; readonly byState: LetterCounts }
  /** The retention of a broker removed delivered events: rows one by one, and whole partitions, one for each day. */
  deliveredRemoved: { readonly broker: string; readonly rows: number; readonly partitions: number }
  /** The notice about a letter failed. The letter itself is safe. */
  noticeFailed: {
    readonly channel: string
    readonly name: string
    readonly error: unknown
    readonly letter?: DeadLetter | undefined
  }

  /**
   * The entry limit refused an event: it was saved with its reason, dropped because of the filter, or not yet saved in
   * any store.
   */
  eventLimited: { readonly type: string; readonly became: 'saved' | 'dropped' | 'unsaved' }
  batchWritten: { readonly name: string; readonly count: number; readonly durationMs: number }
  /** A sink's way has ended without it: the copy of an event for this sink was given up on or dropped. */
  undelivered: { readonly name: string; readonly type: string; readonly reason: Reason }
  eventDropped: { readonly name: string; readonly type: string; readonly reason: Reason }
  trackedInJob: { readonly job: string }
  /** Tracking failed and the caller went on: inside a job, or, with no job named, because it asked for that. */
  trackingFailureSwallowed: {
    readonly job: string | undefined
    readonly errorName: string
    readonly reason: Reason
    /** Undefined if the input was not an event. */
    readonly event?: LazaretEvent | undefined
  }
  /** A call of the journal of critical events failed; the events are still sent. */
  journalFailed: { readonly error: unknown }
  healthChecked: { readonly name: string; readonly healthy: boolean }
}

/** A function that a user hands in as an option. */
export type UserFunction =
  | 'backoff'
  | 'random'
  | 'classify'
  | 'filter'
  | 'schema'
  | 'observer'
  | 'notifier'
  | 'bypass'
  | 'critical'
  | 'describe'
  | 'metadata'
  | 'autoReplay'

/** A letter was saved. */
export interface LetterObservation {
  readonly channel: string
  readonly name: string
  readonly letter: DeadLetter
  /** True if the letter was reported before. It has more information now: every sink of an event of a job has failed. */
  readonly again?: boolean | undefined
}

/** How a replayed event ended at its consumer. */
export type ReplayOutcome = 'recovered' | 'failed_again' | 'skipped'

/** How a consumer ended a delivery. */
export type ProcessedOutcome = 'done' | 'skipped' | 'retried' | 'dead' | 'released'

/**
 * `breaker`: the dependency fails. `store`: letters cannot be saved. `ledger`: the ledger cannot be asked. `manual`:
 * someone asked for it.
 */
export type PauseReason = 'breaker' | 'store' | 'ledger' | 'manual'

/**
 * Receives observations. Each method is optional. Lazaret builds no object for a missing method, so an observer costs
 * only what it observes. Lazaret calls methods synchronously while it handles an event: they count or enqueue, and do not
 * wait. The runtime swallows the errors of a method, so that they do not affect the event.
 */
export type Observer = { readonly [K in keyof Observations]?: (event: Observations[K]) => void }
