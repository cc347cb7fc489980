import { type BreakerOptions, type BreakerPolicy, breakerRule } from '../../../core/breaker/options.ts'
import type { LetterCaps } from '../../../core/dead-letter/caps.ts'
import type { FailureRule } from '../../../core/failure/failure-rule.ts'
import { failureRules } from '../../../core/failure/failure-rule-options.ts'
import type { RetryLimitPolicy } from '../../../core/limit/options.ts'
import { group, type Resolved } from '../../../core/options/resolve.ts'
import {
  integer,
  milliseconds,
  oneOf,
  optional,
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
import { RetryBudget, RetryLimiter, type RetryLimitOptions, retryLimitRule } from '../../limiters.ts'
import { DAY_MS, defaultLateMs, liveOr, made, orOff } from '../../option-rules.ts'
import { guardRandom, guardRetry, guardRules } from '../../user-functions/guards.ts'
import { UserFaults } from '../../user-functions/user-faults.ts'
import type { EntryLimit } from '../track/entry-limit.ts'
import { observeAsOwn } from '../track/own-context.ts'

/** What can be set for all sinks of a dispatcher, and differently for each of them. */
export interface LaneOptions {
  readonly retry?: RetryOptions | undefined
  /** Options, or a live breaker shared with others that use the same dependency. */
  readonly breaker?: BreakerOptions | Breaker | 'off' | undefined
  /** What becomes of events while the breaker is open: saved at once, or kept in the buffer until it closes. */
  readonly whenOpen?: 'dead-letter' | 'wait' | undefined
  /** Paces retries, and what waited behind an open breaker. It counts events, not batches. */
  readonly retryLimit?: RetryLimitOptions | 'off' | undefined
  /** Caps the share of writes that are retries [none]. It counts events, not batches. */
  readonly budget?: BudgetOptions | RetryBudget | undefined
  /** For each write. */
  readonly timeoutMs?: number | undefined
  /**
   * How long a write that runs on after its timeout is waited for, so that the retry of its events does not overlap with it
   * [the timeout, at least 1 s]. A late success is a success. After that its events go on all the same.
   */
  readonly lateMs?: number | undefined
  readonly batch?: BatchingOptions | undefined
  readonly buffer?: BufferOptions | undefined
  /** Writes at once. With more than one, events can overtake each other. */
  readonly concurrency?: number | undefined
  /** Rules of your own for what the sink's errors mean, asked before the built-in table. */
  readonly classify?: readonly FailureRule[] | undefined
}

export interface BatchingOptions {
  /** Events in a batch, at most. */
  readonly maxCount?: number | undefined
  /** Bytes in a batch, about and at most; a larger event goes alone. */
  readonly maxBytes?: number | undefined
  /** How long an event waits for company. 0: none waits; what arrives during a write forms the next batch. */
  readonly maxWaitMs?: number | undefined
}

/** How much may be in a lane, from being accepted until its outcome is durable. */
export interface BufferOptions {
  readonly maxEvents?: number | undefined
  readonly maxBytes?: number | undefined
  /**
   * What becomes of an event that finds no room: a dead letter; nothing, it is dropped; or `track` waits for room. As
   * many may wait as the buffer holds: a caller that does not await gets dead letters in the end.
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
  breaker: orOff(liveOr<Breaker, BreakerPolicy>(Breaker, breakerRule('producer'))),
  whenOpen: withDefault(oneOf('dead-letter', 'wait'), 'dead-letter'),
  retryLimit: orOff(retryLimitRule),
  budget: optional(liveOr(RetryBudget, budgetRule)),
  timeoutMs: withDefault(milliseconds({ min: 1, max: DAY_MS }), DEFAULT_WRITE_TIMEOUT_MS),
  lateMs: optional(milliseconds({ max: DAY_MS })),
  batch: group(batchRules),
  buffer: group(bufferRules),
  concurrency: withDefault(integer({ min: 1, max: 1_000 }), 1),
  classify: withDefault(failureRules, Object.freeze([])),
}

export const laneRule: Rule<LaneSettings> = group(laneRules)

export type BatchPolicy = Resolved<typeof batchRules>
export type BufferPolicy = Resolved<typeof bufferRules>
export type LaneSettings = Resolved<typeof laneRules>

/**
 * What holds for one sink: what is set for all, with its own over it. Groups of options are merged field by field, so
 * that `{ retry: { attempts: 6 } }` keeps the backoff that is set for all. What is no option stays, to be reported.
 */
export function mergeLaneOptions(forAll: LaneOptions, own: LaneOptions | undefined): unknown {
  if (own !== undefined && !isPlain(own)) return own
  const merged: Record<string, unknown> = { ...own }
  for (const name of Object.keys(laneRules) as (keyof LaneOptions)[]) {
    const general = forAll[name]
    const special = own?.[name]
    if (special === undefined) merged[name] = general
    else if (isPlain(general) && isPlain(special)) merged[name] = { ...general, ...given(special) }
  }
  return merged
}

function given(options: object): object {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined))
}

function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
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
  const { breaker, timeoutMs, budget, retryLimit: given } = settings
  const retryLimit = given === 'off' ? undefined : given
  return {
    ...settings,
    ...shared,
    name,
    sink,
    faults,
    // What a sink refuses is in no broker that would hand it over again.
    poison: 'off',
    budget: budget && made(budget, policy => new RetryBudget(policy)),
    retry: guardRetry(settings.retry, RETRY_PRESETS.producer.backoff, faults),
    classify: guardRules(settings.classify, faults),
    random: guardRandom(random, faults),
    breaker:
      breaker === 'off' ? undefined : made(breaker, policy => new Breaker(policy, { name, clock, observer })),
    retryLimit,
    retryLimiter:
      retryLimit &&
      new RetryLimiter(retryLimit, { name, part: name, clock, observer, tellsBatches: true, leaveOpen }),
    lateMs: settings.lateMs ?? defaultLateMs(timeoutMs),
    deadlines: deadlinesOf(clock).lane(timeoutMs),
  }
}
