import { type BreakerOptions, type BreakerPolicy, breakerRule } from '../../../core/breaker/options.ts'
import type { LetterCaps } from '../../../core/dead-letter/caps.ts'
import type { FailureRule } from '../../../core/failure/failure-rule.ts'
import { failureRules } from '../../../core/failure/failure-rule-options.ts'
import type { RetryLimitPolicy } from '../../../core/limit/options.ts'
import { fileOptions } from '../../../core/options/file-options.ts'
import { isPlain, mergeOptions } from '../../../core/options/merge.ts'
import { group, type Resolved } from '../../../core/options/resolve.ts'
import {
  integer,
  milliseconds,
  oneOf,
  optional,
  orWord,
  type Rule,
  withDefault,
} from '../../../core/options/rules.ts'
import { type BudgetOptions, budgetRule } from '../../../core/retry/budget.ts'
import { type RetryOptions, retryRule } from '../../../core/retry/policy.ts'
import { RETRY_PRESETS } from '../../../core/retry/presets.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Sink } from '../../../ports/sink.ts'
import type { Tracing } from '../../../ports/tracing.ts'
import type { AttemptPolicy } from '../../attempt/after-failure.ts'
import { type DeadlineLane, deadlinesOf } from '../../attempt/deadlines.ts'
import { Breaker } from '../../breaker.ts'
import { defaultRetryLimitRule, RetryBudget, RetryLimiter, type RetryLimitOptions } from '../../limiters.ts'
import { changeLive, DAY_MS, defaultLateMs, liveOr, made } from '../../option-rules.ts'
import { staysGiven, staysOn } from '../../reload/policy-source.ts'
import { guardRandom, guardRetry, guardRules } from '../../user-functions/guards.ts'
import { UserFaults } from '../../user-functions/user-faults.ts'
import type { EntryLimit } from '../track/entry-limit.ts'
import { observeAsOwn } from '../track/own-context.ts'

/** What can be set for all sinks of a dispatcher, and differently for each of them. */
export interface LaneOptions {
  /** How often and when a failed write is attempted again [4 attempts, from 100 ms up to 5 s apart]. */
  readonly retry?: RetryOptions | undefined
  /**
   * Stops writes while the sink fails [opens after 5 failures in a row, for 60 s]. Give options, a live breaker that
   * others share, or `'off'`.
   */
  readonly breaker?: BreakerOptions | Breaker | 'off' | undefined
  /**
   * What happens to events while the breaker is open: they become dead letters at once, or they wait in the buffer
   * until the breaker closes [dead-letter].
   */
  readonly whenOpen?: 'dead-letter' | 'wait' | undefined
  /**
   * Limits the retries per second, and the events that waited for an open breaker [100 per second, over which a retry
   * waits for its turn, with a jitter of 1]. It counts events, not batches. `'off'` for no limit.
   */
  readonly retryLimit?: RetryLimitOptions | 'off' | undefined
  /** Caps the share of writes that are retries [none]. It counts events, not batches. */
  readonly budget?: BudgetOptions | RetryBudget | undefined
  /** The time that each write has, in ms [5 000]. */
  readonly timeoutMs?: number | undefined
  /**
   * How long a write that runs on after its timeout is waited for, so that the retry of its events does not overlap with it
   * [the timeout, at least 1 s]. A late success is a success. After that its events continue anyway.
   */
  readonly lateMs?: number | undefined
  /** How many events are written together [100 events or 1 MiB, without waiting; a sink may suggest other values]. */
  readonly batch?: BatchingOptions | undefined
  /**
   * How many events may wait for the sink, and what happens when the buffer is full [10 000 events or 64 MiB;
   * dead-letter].
   */
  readonly buffer?: BufferOptions | undefined
  /** Writes that run at once [1]. With more than one, events can overtake each other. */
  readonly concurrency?: number | undefined
  /** Your own rules for the meaning of the sink's errors. Lazaret applies them before the built-in table [none]. */
  readonly classify?: readonly FailureRule[] | undefined
}

/** How many events are written together. */
export interface BatchingOptions {
  /** The most events in a batch [100]. */
  readonly maxCount?: number | undefined
  /** The size of a batch, in bytes, approximately [1 048 576: 1 MiB]. A larger event is written alone. */
  readonly maxBytes?: number | undefined
  /**
   * How long an event waits for others to join its batch, in ms [0]. With 0 no event waits, and the events that
   * arrive during a write form the next batch.
   */
  readonly maxWaitMs?: number | undefined
}

/** How much may be in a lane, from being accepted until its outcome is durable. */
export interface BufferOptions {
  /** Events that the buffer holds [10 000]. */
  readonly maxEvents?: number | undefined
  /** Bytes that the buffer holds, approximately [67 108 864: 64 MiB]. */
  readonly maxBytes?: number | undefined
  /**
   * What happens to an event that finds the buffer full: it becomes a dead letter, it is dropped, or `track` waits
   * for space [dead-letter]. With `block`, as many calls may wait as the buffer holds events; the events of further
   * calls become dead letters.
   */
  readonly overflow?: 'dead-letter' | 'drop-newest' | 'block' | undefined
}

const DEFAULT_WRITE_TIMEOUT_MS = 5_000
const DEFAULT_BATCH_COUNT = 100
const DEFAULT_BATCH_BYTES = 1_048_576
const DEFAULT_BUFFER_EVENTS = 10_000
const DEFAULT_BUFFER_BYTES = 67_108_864

const batchRules = {
  maxCount: withDefault(integer({ min: 1, max: 1_000_000 }), DEFAULT_BATCH_COUNT),
  maxBytes: withDefault(integer({ min: 1 }), DEFAULT_BATCH_BYTES),
  maxWaitMs: withDefault(milliseconds({ max: DAY_MS }), 0),
}

const bufferRules = {
  maxEvents: withDefault(integer({ min: 1 }), DEFAULT_BUFFER_EVENTS),
  maxBytes: withDefault(integer({ min: 1 }), DEFAULT_BUFFER_BYTES),
  overflow: withDefault(oneOf('dead-letter', 'drop-newest', 'block'), 'dead-letter'),
}

export const laneRules = {
  retry: retryRule('producer'),
  breaker: orWord('off', liveOr<Breaker, BreakerPolicy>(Breaker, breakerRule('producer'))),
  whenOpen: withDefault(oneOf('dead-letter', 'wait'), 'dead-letter'),
  retryLimit: orWord('off', defaultRetryLimitRule),
  budget: optional(liveOr(RetryBudget, budgetRule)),
  timeoutMs: withDefault(milliseconds({ min: 1, max: DAY_MS }), DEFAULT_WRITE_TIMEOUT_MS),
  lateMs: optional(milliseconds({ max: DAY_MS })),
  batch: group(batchRules),
  buffer: group(bufferRules),
  concurrency: withDefault(integer({ min: 1, max: 1_000 }), 1),
  classify: withDefault(failureRules, Object.freeze([])),
}

export const laneRule: Rule<LaneSettings> = group(laneRules)
/** The options of a sink that a config file can set. */
export const laneFileOptions = fileOptions(laneRules, [])

export type BatchPolicy = Resolved<typeof batchRules>
export type BufferPolicy = Resolved<typeof bufferRules>
export type LaneSettings = Resolved<typeof laneRules>

/** What holds for one sink: what is set for all, with its own over it. Unknown options stay, so that they are reported. */
export function mergeLaneOptions(forAll: object, own: LaneOptions | undefined): unknown {
  if (own !== undefined && !isPlain(own)) return own
  const general = Object.entries(forAll).filter(([name]) => Object.hasOwn(laneRules, name))
  return mergeOptions(Object.fromEntries(general), own ?? {})
}

/** Everything a lane needs to know. */
export interface LanePolicy
  extends AttemptPolicy,
    Omit<LaneSettings, 'breaker' | 'budget' | 'classify' | 'lateMs' | 'retry' | 'retryLimit'> {
  readonly entryLimit: EntryLimit
  readonly caps: LetterCaps
  readonly tracing: Tracing | undefined
  readonly clock: Clock
  readonly sink: Sink
  readonly retryLimit: RetryLimitPolicy | undefined
  readonly retryLimiter: RetryLimiter | undefined
  readonly lateMs: number
  readonly deadlines: DeadlineLane
  readonly faults: UserFaults
}

/** `shared`: what all lanes of a dispatcher have in common. `leaveOpen`: of the dispatcher, for a limit that is shared. */
export function lanePolicy(
  name: string,
  sink: Sink,
  settings: LaneSettings,
  shared: Pick<LanePolicy, 'entryLimit' | 'caps' | 'observer' | 'tracing' | 'clock' | 'random'>,
  leaveOpen: boolean,
): LanePolicy {
  const { clock, observer, random } = shared
  const faults = new UserFaults({ name, clock, observer }, observeAsOwn)
  const { breaker, budget, retryLimit: given } = settings
  const retryLimit = given === 'off' ? undefined : given
  return {
    ...settings,
    ...shared,
    ...changeable(settings, clock, faults),
    name,
    sink,
    faults,
    // No broker delivers a refused event again.
    poison: 'off',
    budget: budget && made(budget, policy => new RetryBudget(policy)),
    random: guardRandom(random, faults),
    breaker:
      breaker === 'off' ? undefined : made(breaker, policy => new Breaker(policy, { name, clock, observer })),
    retryLimiter:
      retryLimit &&
      new RetryLimiter(retryLimit, { name, part: name, clock, observer, tellsBatches: true, leaveOpen }),
  }
}

/** The parts of the policy that new options of a file replace while the lane runs. */
function changeable(settings: LaneSettings, clock: Clock, faults: UserFaults) {
  const { timeoutMs, whenOpen, concurrency, retryLimit } = settings
  return {
    timeoutMs,
    whenOpen,
    concurrency,
    retryLimit: retryLimit === 'off' ? undefined : retryLimit,
    retry: guardRetry(settings.retry, RETRY_PRESETS.producer.backoff, faults),
    classify: guardRules(settings.classify, faults),
    lateMs: settings.lateMs ?? defaultLateMs(timeoutMs),
    deadlines: deadlinesOf(clock).lane(timeoutMs),
  }
}

/** Whether a running lane can take over another value of an option. Its queues have got their sizes already. */
export function canChangeLane(name: string, from: unknown, to: unknown): boolean {
  if (name === 'breaker' || name === 'retryLimit') return staysOn(from, to)
  if (name === 'budget') return staysGiven(from, to)
  return name !== 'batch' && name !== 'buffer'
}

/** Puts new options into the policy of a running lane, which reads it at each step. */
export function changeLane(policy: LanePolicy, settings: LaneSettings, caps: LetterCaps): void {
  const { breaker, budget, retryLimit } = settings
  Object.assign(policy, changeable(settings, policy.clock, policy.faults), { caps })
  changeLive(policy.breaker, breaker)
  changeLive(policy.budget, budget)
  if (retryLimit !== 'off') policy.retryLimiter?.changePolicy(retryLimit)
}
