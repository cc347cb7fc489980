import { hostname } from 'node:os'
import { type AutoReplayTest, autoReplayRule } from '../core/dead-letter/auto-replay.ts'
import { type LetterCapsOptions, letterCapsRule } from '../core/dead-letter/caps.ts'
import { type LetterExpiryOptions, letterExpiryRule } from '../core/dead-letter/expiry.ts'
import { type SaveFilterOptions, saveFilterRule } from '../core/dead-letter/filter.ts'
import { type MetadataOption, metadataRule } from '../core/dead-letter/metadata.ts'
import { type ReplayLimitOptions, replayLimitRule } from '../core/dead-letter/replay-limit.ts'
import type { TimeToLive } from '../core/dead-letter/time-to-live.ts'
import type { Category } from '../core/failure/failure.ts'
import { flag, having, milliseconds, optional, type Rule, text, withDefault } from '../core/options/rules.ts'
import { type ClockAndRandomOptions, clockAndRandomRules } from '../ports/clock.ts'
import type { DeadLetterQueue, DeadLetterStore, Spill } from '../ports/dead-letters.ts'
import type { Notifier } from '../ports/notifier.ts'
import type { Observer } from '../ports/observer.ts'
import { type Tracing, tracingRule } from '../ports/tracing.ts'
import { safeObserver } from './user-functions/observer-faults.ts'

/** A policy to make the live object from, or one that was made before and is shared. */
type InstanceOrPolicy<L, P> = { readonly live: L } | { readonly policy: P }

export function liveOr<L, P>(
  liveClass: abstract new (...args: never[]) => L,
  rule: Rule<P>,
): Rule<InstanceOrPolicy<L, P>> {
  return {
    form: rule.form,
    read: (value, path, faults) =>
      value instanceof liveClass ? { live: value } : { policy: rule.read(value, path, faults) },
  }
}

export function made<L, P>(option: InstanceOrPolicy<L, P>, make: (policy: P) => L): L {
  return 'live' in option ? option.live : make(option.policy)
}

/** Gives a live object, which was made of options, the policy of new options. One that was given stays as it is. */
export function changeLive<P>(
  live: { changePolicy(policy: P): void } | undefined,
  option: InstanceOrPolicy<unknown, P> | 'off' | undefined,
): void {
  if (option !== undefined && option !== 'off' && 'policy' in option) live?.changePolicy(option.policy)
}

/** A port's implementation, known by the methods it must have. */
export function port<T>(noun: string, ...methods: readonly (keyof T & string)[]): Rule<T> {
  const names = methods.map(method => `${method}()`).join(', ')
  return having(`give ${noun} with ${names}`, ...methods)
}

const anyObserver = having<Observer>('give an object with methods named after what it observes')

/** Its properties can be read without care from here on. */
export const observerRule: Rule<Observer> = {
  read(value, path, faults) {
    const observer = anyObserver.read(value, path, faults)
    return isObject(observer) ? safeObserver(observer) : observer
  },
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

const MIN_LATE_MS = 1_000

/** The default wait for work that continues after its timeout. */
export function defaultLateMs(timeoutMs: number): number {
  return Math.max(MIN_LATE_MS, timeoutMs)
}

export const DAY_MS = 86_400_000
export const DEFAULT_GRACE_MS = 10_000

export const deadLettersRule: Rule<DeadLetterQueue | DeadLetterStore> = port<DeadLetterQueue>(
  'a dead-letter store',
  'send',
  'close',
)

/** The options that consumers and dispatchers have in common. */
export interface CommonOptions extends ClockAndRandomOptions {
  /** Takes dead letters while their store is unreachable [none]. Each store needs its own spill. */
  readonly spill?: Spill | undefined
  /** Which dead letters are kept [all]. */
  readonly filter?: SaveFilterOptions | undefined
  /**
   * Custom facts that a dead letter keeps, such as a tenant or a team: a JSON object of at most 8 192 bytes, or a
   * function that returns one. The function gets what the filter gets [none].
   */
  readonly metadata?: MetadataOption | undefined
  /** How much of its history a dead letter keeps [20 attempts, 20 cycles, messages up to 4 096 bytes, no stacks]. */
  readonly caps?: LetterCapsOptions | undefined
  /**
   * How long an undecided dead letter is kept, in ms from the failure on ['never']. Every value except 'never' deletes
   * events without a decision. The object sets it by reason and by channel. The letter stores the time or
   * 'never'. Decided letters follow the retention of their store.
   */
  readonly expiresAfterMs?: TimeToLive | LetterExpiryOptions | undefined
  /**
   * Which letters automatic replay may send: those of these categories, or those for which the function returns true
   * [none]. A function that throws or returns anything else does not allow it.
   */
  readonly autoReplay?: readonly Category[] | AutoReplayTest | undefined
  /** After how many failed replays a letter is parked, for all channels or by channel [3]. */
  readonly replayLimit?: number | ReplayLimitOptions | undefined
  /**
   * Receives every event of the runtime: attempts, retries, breaker changes, dead letters [none]. Use it for logs and
   * metrics.
   */
  readonly observer?: Observer | undefined
  /** Receives every event that was given up on, once its letter is saved [none]. */
  readonly notifier?: Notifier | undefined
  /** Lets single events be followed, such as `otelTracing()` of `lazaret/otel` [none is]. */
  readonly tracing?: Tracing | undefined
  /** The release of the application [none]. Dead letters keep it, to show whether a release is to blame. */
  readonly release?: string | undefined
  /** The name of the machine [the host name]. Dead letters keep it, to show whether a machine is to blame. */
  readonly host?: string | undefined
  /** How long `close` lets attempts finish and events go their way [10 s]. */
  readonly graceMs?: number | undefined
  /**
   * `close` also closes what was given with the options (broker, stores, sinks, journal, ledger, notifier, a live or
   * shared limit), once no other consumer or dispatcher uses it. With `true` it stays open, and the code that created
   * it closes it [false].
   */
  readonly leaveOpen?: boolean | undefined
}

export const commonRules = {
  spill: optional(port<Spill>('a spill', 'send', 'drain', 'size')),
  filter: saveFilterRule,
  metadata: metadataRule,
  caps: letterCapsRule,
  expiresAfterMs: letterExpiryRule,
  autoReplay: autoReplayRule,
  replayLimit: replayLimitRule,
  observer: withDefault<Observer>(observerRule, {}),
  notifier: optional(port<Notifier>('a notifier', 'notify')),
  tracing: tracingRule,
  release: optional(text()),
  host: withDefault(text(), hostname()),
  graceMs: withDefault(milliseconds({ max: DAY_MS }), DEFAULT_GRACE_MS),
  leaveOpen: withDefault(flag(), false),
  ...clockAndRandomRules,
}
