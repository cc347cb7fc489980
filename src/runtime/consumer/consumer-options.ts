import { type BreakerOptions, breakerRule } from '../../core/breaker/options.ts'
import type { LetterCaps } from '../../core/dead-letter/caps.ts'
import { createSaveFilter, type SaveFilter } from '../../core/dead-letter/filter.ts'
import { channelRule } from '../../core/event/channel.ts'
import { copyOfEvent } from '../../core/event/copy.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import { withJson } from '../../core/event/exact-numbers.ts'
import type { FailureRule } from '../../core/failure/failure-rule.ts'
import { failureRules } from '../../core/failure/failure-rule-options.ts'
import { fileOptions } from '../../core/options/file-options.ts'
import { type Relations, type Resolved, resolveOptions } from '../../core/options/resolve.ts'
import {
  callable,
  custom,
  integer,
  milliseconds,
  oneOf,
  optional,
  orWord,
  text,
  withDefault,
} from '../../core/options/rules.ts'
import { type PoisonOptions, poisonRule } from '../../core/poison/options.ts'
import { type BudgetOptions, budgetRule } from '../../core/retry/budget.ts'
import { type RetryOptions, retryRule } from '../../core/retry/policy.ts'
import { RETRY_PRESETS } from '../../core/retry/presets.ts'
import { type ChannelLimits, channelLimitsRule } from '../../core/watch/options.ts'
import type { Broker } from '../../ports/broker.ts'
import type { DeadLetterQueue, DeadLetterStore } from '../../ports/dead-letters.ts'
import type { Ledger } from '../../ports/ledger.ts'
import type { StandardSchema } from '../../ports/schema.ts'
import type { AttemptPolicy } from '../attempt/after-failure.ts'
import { type DeadlineLane, deadlinesOf } from '../attempt/deadlines.ts'
import { Breaker } from '../breaker.ts'
import { defaultRetryLimitRule, RetryBudget, RetryLimiter, type RetryLimitOptions } from '../limiters.ts'
import {
  type CommonOptions,
  changeLive,
  commonRules,
  DAY_MS,
  deadLettersRule,
  defaultLateMs,
  liveOr,
  made,
  port,
} from '../option-rules.ts'
import { guardRandom, guardRetry, guardRules, guardTest } from '../user-functions/guards.ts'
import { UserFaults } from '../user-functions/user-faults.ts'
import type { HandlerContext } from './handler-context.ts'
import { Trails } from './work.ts'

/** Options of `createConsumer()`. */
export interface ConsumerOptions<P = unknown> extends CommonOptions {
  /** The broker that delivers the events, such as `rabbitmq(…)` of `lazaret/rabbitmq`. */
  readonly broker: Broker
  /** The channel to take events from. */
  readonly channel: string
  /** Handles one event. An error is a failed attempt; the returned value is ignored. */
  readonly handle: (event: LazaretEvent<P>, context: HandlerContext) => unknown
  /** Names the handler; every name gets every event of the channel once [the channel's name]. */
  readonly name?: string | undefined
  /**
   * Any Standard Schema [none: payloads are not checked]. An event whose payload does not fit becomes a dead letter
   * at once.
   */
  readonly schema?: StandardSchema<P> | undefined
  /**
   * How often and when a failed event is attempted again [6 attempts, from 1 s up to 1 min apart; with an outbox, and for
   * `createRelay`: 5 attempts, from 1 s up to 5 min apart, full jitter]. Use `{ attempts: 1 }` for no retries.
   */
  readonly retry?: RetryOptions | undefined
  /**
   * Stops attempts while a dependency of the handler fails [opens after 5 failures in a row, for 30 s]. Give options,
   * a live breaker that others share, or `'off'`.
   */
  readonly breaker?: BreakerOptions | Breaker | 'off' | undefined
  /**
   * What happens to events while the breaker is open: they stay in the broker, they are retried later, or they become
   * dead letters [pause].
   */
  readonly whenOpen?: 'pause' | 'retry-later' | 'dead-letter' | undefined
  /**
   * Limits the retries per second, so that a dependency that recovers is not overloaded [100 per second, over which a
   * retry waits for its turn, with a jitter of 1]. Give options, a live limiter that others share, or `'off'`.
   */
  readonly retryLimit?: RetryLimitOptions | RetryLimiter | 'off' | undefined
  /** Limits retries to a share of the first attempts [no limit]. Give options or a live budget that others share. */
  readonly budget?: BudgetOptions | RetryBudget | undefined
  /**
   * Quarantines an event that repeats the same failure or crashes the process [3 equal failures within 1 min, or 3
   * crashes]. It never shortens the retries of a transient, integration or unknown failure. `'off'` treats such events
   * like all others.
   */
  readonly poison?: PoisonOptions | 'off' | undefined
  /** The time that each attempt has, in ms [30 000]. The signal of the handler's context aborts after that time. */
  readonly timeoutMs?: number | undefined
  /**
   * How long a handler that runs on after its timeout keeps its place among the attempts [the timeout, at least 1 s]. Its
   * event is not attempted again in this process before it has ended, however long that takes.
   */
  readonly lateMs?: number | undefined
  /** Attempts that run at once [10; `withDeadLetters`: as many as the client hands over]. */
  readonly concurrency?: number | undefined
  /** Deliveries that are open at once, waiting ones included [twice the concurrency]. */
  readonly prefetch?: number | undefined
  /**
   * `by-key` handles the events of a key one after the other: later ones wait while an earlier one is retried or dead
   * [none]. The broker must support it.
   */
  readonly ordering?: 'none' | 'by-key' | undefined
  /** Retries with a wait of up to this many ms wait in the process; longer ones wait in the broker [100]. */
  readonly inProcessWaitMs?: number | undefined
  /**
   * Remembers handled events, so that the handler runs once for an event that is delivered twice [none: the handler
   * must be idempotent].
   */
  readonly ledger?: Ledger | undefined
  /**
   * How long a claim in the ledger holds without renewal, in ms [`timeoutMs` and 10 000]. An attempt that runs on
   * after its timeout renews it.
   */
  readonly leaseMs?: number | undefined
  /**
   * Where events go that the consumer gives up on [the dead-letter queue of the broker]. A broker without such a queue
   * needs it.
   */
  readonly deadLetters?: DeadLetterQueue | DeadLetterStore | undefined
  /** Your own rules for the meaning of errors. Lazaret applies them before the built-in table [none]. */
  readonly classify?: readonly FailureRule[] | undefined
  /**
   * The alert limits of the channel, for a server in this process that has the consumer [those of the server]. The
   * server's own `watch.channels` takes precedence.
   */
  readonly watch?: ChannelLimits | undefined
}

const DEFAULT_TIMEOUT_MS = 30_000
export const DEFAULT_CONCURRENCY = 10
const DEFAULT_IN_PROCESS_WAIT_MS = 100
const LEASE_MARGIN_MS = 10_000

/** The rules of a consumer's options. Wrappers check the options that they pass on by the same rules. */
export const consumerRules = {
  broker: port<Broker>('a broker', 'publish', 'subscribe', 'close'),
  channel: channelRule,
  handle: callable<ConsumerOptions['handle']>('give the function that handles an event'),
  name: optional(text({ maxLength: 200 })),
  schema: optional(custom(isSchema, 'give a Standard Schema, such as one of zod, valibot or arktype')),
  retry: retryRule('consumer'),
  breaker: orWord('off', liveOr(Breaker, breakerRule('consumer'))),
  whenOpen: withDefault(oneOf('pause', 'retry-later', 'dead-letter'), 'pause'),
  retryLimit: orWord('off', liveOr(RetryLimiter, defaultRetryLimitRule)),
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
  deadLetters: optional(deadLettersRule),
  classify: withDefault(failureRules, Object.freeze([])),
  watch: optional(channelLimitsRule),
  ...commonRules,
}

/** Only the retry defaults differ. */
const rulesOf = { consumer: consumerRules, outbox: { ...consumerRules, retry: retryRule('outbox') } }

type ConsumerRetryPreset = keyof typeof rulesOf

const relations: Relations<typeof consumerRules> = (options, fault) => {
  const { broker, ordering, deadLetters, spill } = options
  if (broker.retryPreset !== undefined && !Object.hasOwn(rulesOf, broker.retryPreset))
    fault(
      'broker',
      `declare 'consumer' or 'outbox' as its retryPreset: ${broker.name} has '${broker.retryPreset}'`,
    )
  if (ordering === 'by-key' && !broker.capabilities.keyOrder)
    fault('ordering', `leave it out, or use another broker: ${broker.name} cannot keep the order of a key`)
  if (deadLetters === undefined && !broker.capabilities.deadLetters)
    fault('deadLetters', `give a store: ${broker.name} has no dead-letter queue of its own`)
  if (spill !== undefined && deadLetters === undefined)
    fault('spill', 'set deadLetters too: a spill only holds letters for a store')
  relationsOfData(options, fault)
}

/** The relations that do not depend on a broker or a store. */
const relationsOfData: Relations<typeof consumerRules> = (options, fault) => {
  const { prefetch, concurrency, leaseMs, timeoutMs } = options
  if (prefetch !== undefined && prefetch < concurrency)
    fault('prefetch', `give at least the concurrency (${concurrency}), or handlers stay idle`)
  if (leaseMs !== undefined && leaseMs <= timeoutMs)
    fault('leaseMs', `give more than timeoutMs (${timeoutMs}), or a claim ends before its attempt`)
}

/** The options of a consumer that a config file can set. */
export const consumerFileOptions = fileOptions(
  consumerRules,
  ['channel', 'name', 'leaveOpen'],
  relationsOfData,
)

type Settings = Resolved<typeof consumerRules>

export interface ConsumerPolicy
  extends AttemptPolicy,
    Omit<Settings, keyof AttemptPolicy | 'filter' | 'lateMs' | 'leaseMs' | 'prefetch' | 'retryLimit'> {
  /** For attempts with the timeout of the policy. */
  readonly deadlines: DeadlineLane
  /** The greatest number of attempts over all categories. After so many starts no attempt is left. */
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
  readonly faults: UserFaults
  /**
   * The event as the schema and the handler get it: their own copy, which they may change, with JSON for bytes that keep
   * its numbers. The letter has the event as it was sent.
   */
  readonly inputOf: (event: LazaretEvent) => LazaretEvent
}

/** What an object that is built on the consumer sets, beside the options of the user. */
export interface ConsumerInternals {
  /** Of the object, which also calls functions of the user. */
  readonly faults?: UserFaults
  /** The retry defaults, where they do not depend on the broker. */
  readonly preset?: ConsumerRetryPreset
  /** Where the user's handler does not get the event. */
  readonly inputOf?: (event: LazaretEvent) => LazaretEvent
}

export function resolveConsumer(input: ConsumerOptions, internals: ConsumerInternals = {}): ConsumerPolicy {
  const { preset = presetOf(input) } = internals
  const given = resolveOptions('consumer', rulesOf[preset], input, relations)
  const { clock, observer, channel, name = channel, leaveOpen } = given
  const { breaker, retryLimit, budget, broker, tracing } = given
  const faults = internals.faults ?? new UserFaults({ name, clock, observer })
  return {
    ...given,
    ...changeable(given, preset, faults),
    name,
    random: guardRandom(given.random, faults),
    faults,
    inputOf: internals.inputOf ?? (event => withJson(copyOfEvent(event))),
    trails: tracing && new Trails(tracing, { system: broker.name, channel, handler: name }, clock),
    breaker:
      breaker === 'off' ? undefined : made(breaker, policy => new Breaker(policy, { name, clock, observer })),
    retryLimit:
      retryLimit === 'off'
        ? undefined
        : made(retryLimit, policy => new RetryLimiter(policy, { name, clock, observer, leaveOpen })),
    isRetryLimitGiven: retryLimit !== 'off' && 'live' in retryLimit,
    budget: budget && made(budget, policy => new RetryBudget(policy)),
    prefetch: given.prefetch ?? given.concurrency * 2,
    // A broker that cannot hold a retry back leaves every wait to the process.
    inProcessWaitMs: broker.capabilities.delay ? given.inProcessWaitMs : Number.POSITIVE_INFINITY,
  }
}

/** The parts of the policy that new options of a file replace while the consumer runs. */
function changeable(given: Settings, preset: ConsumerRetryPreset, faults: UserFaults) {
  const { retry, timeoutMs, clock, caps, expiresAfterMs, replayLimit, poison, whenOpen, graceMs, watch } =
    given
  return {
    caps,
    expiresAfterMs,
    replayLimit,
    poison,
    whenOpen,
    graceMs,
    watch,
    timeoutMs,
    concurrency: given.concurrency,
    metadata: given.metadata,
    deadlines: deadlinesOf(clock).lane(timeoutMs),
    lateMs: given.lateMs ?? defaultLateMs(timeoutMs),
    leaseMs: given.leaseMs ?? timeoutMs + LEASE_MARGIN_MS,
    retry: guardRetry(retry, RETRY_PRESETS[preset].backoff, faults),
    mostAttempts: Math.max(retry.attempts, ...Object.values(retry.byCategory).map(own => own.attempts)),
    classify: guardRules(given.classify, faults),
    autoReplay: guardTest(given.autoReplay, 'autoReplay', false, faults, letter => ({ letter })),
    filter: createSaveFilter(given.filter, (_rule, error, { event }) =>
      faults.report('filter', error, { event }),
    ),
  }
}

/**
 * Checks new options for a running consumer. The returned function puts them into its policy: all parts of the consumer read
 * the policy at each step, so the next step of every event follows the new options.
 */
export function changeConsumer(
  policy: ConsumerPolicy,
  input: ConsumerOptions,
  internals: ConsumerInternals = {},
): () => void {
  const { preset = presetOf(input) } = internals
  const given = resolveOptions('consumer', rulesOf[preset], input, relations)
  return () => {
    Object.assign(policy, changeable(given, preset, policy.faults))
    changeLive(policy.breaker, given.breaker)
    changeLive(policy.retryLimit, given.retryLimit)
    changeLive(policy.budget, given.budget)
  }
}

/** The options are not checked yet, so the broker may be anything. */
function presetOf(input: ConsumerOptions | undefined): ConsumerRetryPreset {
  return input?.broker?.retryPreset === 'outbox' ? 'outbox' : 'consumer'
}

function isSchema(value: unknown): value is StandardSchema {
  if ((typeof value !== 'object' && typeof value !== 'function') || value === null) return false
  const standard = (value as Partial<StandardSchema>)['~standard']
  return standard?.version === 1 && typeof standard.validate === 'function'
}
