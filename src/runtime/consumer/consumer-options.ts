import { hostname } from 'node:os'
import { type BreakerOptions, breakerRule } from '../../core/breaker/options.ts'
import { type LetterCaps, type LetterCapsOptions, letterCapsRule } from '../../core/dead-letter/caps.ts'
import {
  createSaveFilter,
  type SaveFilter,
  type SaveFilterOptions,
  saveFilterRule,
} from '../../core/dead-letter/filter.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import type { FailureRule } from '../../core/failure/failure-rule.ts'
import { failureRules } from '../../core/failure/failure-rule-options.ts'
import { type Relations, type Resolved, resolveOptions } from '../../core/options/resolve.ts'
import {
  callable,
  flag,
  integer,
  milliseconds,
  oneOf,
  optional,
  text,
  that,
  withDefault,
} from '../../core/options/rules.ts'
import { type PoisonOptions, poisonRule } from '../../core/poison/options.ts'
import type { Random } from '../../core/random.ts'
import { type BudgetOptions, budgetRule } from '../../core/retry/budget.ts'
import { type RetryOptions, retryRule } from '../../core/retry/policy.ts'
import { RETRY_PRESETS } from '../../core/retry/presets.ts'
import type { Broker } from '../../ports/broker.ts'
import { type Clock, systemClock, systemRandom } from '../../ports/clock.ts'
import type { DeadLetterQueue, DeadLetterStore, Spill } from '../../ports/dead-letters.ts'
import type { Ledger } from '../../ports/ledger.ts'
import type { Notifier } from '../../ports/notifier.ts'
import type { Observer } from '../../ports/observer.ts'
import type { StandardSchema } from '../../ports/schema.ts'
import { type Tracing, tracingRule } from '../../ports/tracing.ts'
import type { AttemptPolicy } from '../attempt/after-failure.ts'
import { Breaker } from '../breaker.ts'
import { type RetryLimitOptions, retryLimitRule } from '../limit-options.ts'
import { RetryBudget, RetryLimiter } from '../limiters.ts'
import { clockRule, defaultLateMs, liveOr, made, observerRule, orOff, port } from '../option-rules.ts'
import { guardRandom, guardRetry, guardRules } from '../user-functions/guards.ts'
import { UserFaults } from '../user-functions/user-faults.ts'
import type { HandlerContext } from './handler-context.ts'
import { Trails } from './work.ts'

export interface ConsumerOptions<P = unknown> {
  readonly broker: Broker
  readonly channel: string
  /** Throwing is a failure. What it returns is of no interest. */
  readonly handle: (event: LazaretEvent<P>, context: HandlerContext) => unknown
  /** Names the handler; every name gets every event of the channel once [the channel's name]. */
  readonly name?: string | undefined
  /** Any Standard Schema. A payload that does not fit becomes a dead letter at once. */
  readonly schema?: StandardSchema<P> | undefined
  readonly retry?: RetryOptions | undefined
  readonly breaker?: BreakerOptions | Breaker | 'off' | undefined
  /** What becomes of events while the breaker is open [pause: they stay in the broker]. */
  readonly whenOpen?: 'pause' | 'retry-later' | 'dead-letter' | undefined
  readonly retryLimit?: RetryLimitOptions | RetryLimiter | undefined
  readonly budget?: BudgetOptions | RetryBudget | undefined
  readonly poison?: PoisonOptions | 'off' | undefined
  /** For each attempt. */
  readonly timeoutMs?: number | undefined
  /**
   * How long a handler that runs on after its timeout keeps its place among the attempts [the timeout, at least 1 s]. Its
   * event is not attempted again in this process before it has ended, however long that takes.
   */
  readonly lateMs?: number | undefined
  /** Attempts at once. */
  readonly concurrency?: number | undefined
  /** Deliveries open at once, waiting ones included [twice the concurrency]. */
  readonly prefetch?: number | undefined
  readonly ordering?: 'none' | 'by-key' | undefined
  /** Retries that wait no longer than this wait in process; longer ones wait in the broker. */
  readonly inProcessWaitMs?: number | undefined
  readonly ledger?: Ledger | undefined
  /** How long a claim in the ledger holds without being renewed [the timeout and 10 s]. A late run renews it. */
  readonly leaseMs?: number | undefined
  /** May be left out if the broker has a dead-letter place of its own. */
  readonly deadLetters?: DeadLetterQueue | DeadLetterStore | undefined
  readonly spill?: Spill | undefined
  /** Which dead letters are kept [all]. */
  readonly filter?: SaveFilterOptions | undefined
  readonly caps?: LetterCapsOptions | undefined
  readonly classify?: readonly FailureRule[] | undefined
  readonly notifier?: Notifier | undefined
  readonly observer?: Observer | undefined
  /** Lets single events be followed, such as `otelTracing()` of `lazaret/otel` [none is]. */
  readonly tracing?: Tracing | undefined
  /** Kept on dead letters, to see whether a release or a machine is to blame. */
  readonly release?: string | undefined
  readonly host?: string | undefined
  /** How long `close` lets attempts finish. */
  readonly graceMs?: number | undefined
  /**
   * `close` also closes what the consumer was given (broker, stores, ledger, notifier, a live or shared limit), once no other consumer or dispatcher uses
   * it. With `true` it stays open, and whoever made it closes it [false].
   */
  readonly leaveOpen?: boolean | undefined
  readonly clock?: Clock | undefined
  readonly random?: Random | undefined
}

const DEFAULT_TIMEOUT_MS = 30_000
const DEFAULT_CONCURRENCY = 10
const DEFAULT_IN_PROCESS_WAIT_MS = 100
export const DEFAULT_GRACE_MS = 10_000
const LEASE_MARGIN_MS = 10_000
const DAY_MS = 86_400_000

const rules = {
  broker: port<Broker>('a broker', 'publish', 'subscribe', 'close'),
  channel: text({ maxLength: 200 }),
  handle: callable<ConsumerOptions['handle']>('give the function that handles an event'),
  name: optional(text({ maxLength: 200 })),
  schema: optional(that(isSchema, 'give a Standard Schema, such as one of zod, valibot or arktype')),
  retry: retryRule('consumer'),
  breaker: orOff(liveOr(Breaker, breakerRule('consumer'))),
  whenOpen: withDefault(oneOf('pause', 'retry-later', 'dead-letter'), 'pause'),
  retryLimit: optional(liveOr(RetryLimiter, retryLimitRule)),
  budget: optional(liveOr(RetryBudget, budgetRule)),
  poison: poisonRule,
  timeoutMs: withDefault(milliseconds({ min: 1, max: DAY_MS }), DEFAULT_TIMEOUT_MS),
  lateMs: optional(milliseconds({ max: DAY_MS })),
  concurrency: withDefault(integer({ min: 1, max: 100_000 }), DEFAULT_CONCURRENCY),
  prefetch: optional(integer({ min: 1, max: 1_000_000 })),
  ordering: withDefault(oneOf('none', 'by-key'), 'none'),
  inProcessWaitMs: withDefault(milliseconds({ max: 60_000 }), DEFAULT_IN_PROCESS_WAIT_MS),
  ledger: optional(port<Ledger>('a ledger', 'claim', 'renew', 'complete', 'release')),
  leaseMs: optional(milliseconds({ min: 1, max: DAY_MS })),
  deadLetters: optional(port<DeadLetterQueue | DeadLetterStore>('a dead-letter store', 'send', 'close')),
  spill: optional(port<Spill>('a spill', 'send', 'drain', 'size')),
  filter: saveFilterRule,
  caps: letterCapsRule,
  classify: withDefault(failureRules, Object.freeze([])),
  notifier: optional(port<Notifier>('a notifier', 'notify')),
  observer: optional(observerRule),
  tracing: tracingRule,
  release: optional(text()),
  host: optional(text()),
  graceMs: withDefault(milliseconds({ max: DAY_MS }), DEFAULT_GRACE_MS),
  leaveOpen: withDefault(flag(), false),
  clock: optional(clockRule),
  random: optional(callable<Random>('give a function that returns a number from 0 up to 1')),
}

const relations: Relations<typeof rules> = (options, fault) => {
  const { broker, ordering, deadLetters, spill, prefetch, concurrency, leaseMs, timeoutMs } = options
  if (ordering === 'by-key' && !broker.capabilities.keyOrder)
    fault('ordering', `leave it out, or use another broker: ${broker.name} cannot keep the order of a key`)
  if (deadLetters === undefined && !broker.capabilities.deadLetters)
    fault('deadLetters', `give a store: ${broker.name} has no dead-letter place of its own`)
  if (spill !== undefined && deadLetters === undefined)
    fault('spill', 'give deadLetters too: a spill stands in for a store')
  if (prefetch !== undefined && prefetch < concurrency)
    fault('prefetch', `give at least the concurrency (${concurrency}), or the rest of it would be idle`)
  if (leaseMs !== undefined && leaseMs <= timeoutMs)
    fault('leaseMs', `give more than timeoutMs (${timeoutMs}), or an attempt outlives its claim`)
}

type Settings = Resolved<typeof rules>

export interface ConsumerPolicy
  extends AttemptPolicy,
    Omit<
      Settings,
      keyof AttemptPolicy | 'clock' | 'filter' | 'host' | 'lateMs' | 'leaseMs' | 'prefetch' | 'retryLimit'
    > {
  /** Of any category: with so many begun, none is left whatever the next failure is. */
  readonly mostAttempts: number
  readonly retryLimit: RetryLimiter | undefined
  /** The consumer was given the live limiter, and did not make it. */
  readonly isRetryLimitGiven: boolean
  readonly lateMs: number
  readonly prefetch: number
  readonly leaseMs: number
  readonly filter: SaveFilter
  readonly caps: LetterCaps
  readonly trails: Trails | undefined
  readonly host: string
  readonly clock: Clock
  readonly faults: UserFaults
}

/** `shared`: of whoever is built on the consumer and has functions of the user too. */
export function resolveConsumer(input: ConsumerOptions, shared?: UserFaults): ConsumerPolicy {
  const given = resolveOptions('consumer', rules, input, relations)
  const { clock = systemClock, random = systemRandom, observer = {}, channel, name = channel } = given
  const { breaker, retry, retryLimit, budget, broker, tracing, leaveOpen } = given
  const faults = shared ?? new UserFaults({ name, clock, observer })
  return {
    ...given,
    name,
    clock,
    random: guardRandom(random, faults),
    observer,
    faults,
    retry: guardRetry(retry, RETRY_PRESETS.consumer.backoff, faults),
    classify: guardRules(given.classify, faults),
    trails: tracing && new Trails(tracing, { system: broker.name, channel, handler: name }, clock),
    host: given.host ?? hostname(),
    mostAttempts: Math.max(retry.attempts, ...Object.values(retry.byCategory).map(own => own.attempts)),
    breaker:
      breaker === 'off' ? undefined : made(breaker, policy => new Breaker(policy, { name, clock, observer })),
    retryLimit:
      retryLimit &&
      made(retryLimit, policy => new RetryLimiter(policy, { name, clock, observer, leaveOpen })),
    isRetryLimitGiven: retryLimit !== undefined && 'live' in retryLimit,
    budget: budget && made(budget, policy => new RetryBudget(policy)),
    prefetch: given.prefetch ?? given.concurrency * 2,
    lateMs: given.lateMs ?? defaultLateMs(given.timeoutMs),
    leaseMs: given.leaseMs ?? given.timeoutMs + LEASE_MARGIN_MS,
    filter: createSaveFilter(given.filter, (_rule, error) => faults.report('filter', error)),
    // A broker that cannot hold a retry back leaves every wait to the process.
    inProcessWaitMs: broker.capabilities.delay ? given.inProcessWaitMs : Number.POSITIVE_INFINITY,
  }
}

function isSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  const standard = (value as Partial<StandardSchema>)['~standard']
  return standard?.version === 1 && typeof standard.validate === 'function'
}
