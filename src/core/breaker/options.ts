import { group, type Relations, type Resolved, resolveBy } from '../options/resolve.ts'
import {
  custom,
  eitherForm,
  integer,
  milliseconds,
  number,
  optional,
  type Rule,
  withDefault,
} from '../options/rules.ts'

/** What may be set of a breaker; what is left out comes from the preset of its side. */
export interface BreakerOptions {
  /** Failures in a row that open the breaker [5]. `'off'` leaves the decision to `failureRate` alone. */
  readonly failures?: number | 'off' | undefined
  /** Opens the breaker also when this share of the calls fails [off]. */
  readonly failureRate?: FailureRateOptions | undefined
  /**
   * How long the breaker stays open before the first probe, in ms [producer: 60 000; consumer: 30 000]. The breaker
   * gives up a probe without a result after the same time.
   */
  readonly openMs?: number | undefined
  /**
   * Each opening in a row stays open twice as long as the one before, up to this many ms [off: every opening lasts
   * `openMs`].
   */
  readonly openMaxMs?: number | undefined
  /** Successful probes that close the breaker [producer: 3; consumer: 2]. */
  readonly successes?: number | undefined
  /** Probes that may run at once while the breaker is half-open [1]. */
  readonly probes?: number | undefined
}

/** Opens a breaker by the share of failed calls in a time window. */
export interface FailureRateOptions {
  /** Failed calls ÷ counted calls, above 0 and up to 1. */
  readonly threshold: number
  /** The time over which calls count, in ms [60 000]. Raise it for a dependency that gets few calls. */
  readonly windowMs?: number | undefined
  /** The breaker ignores the rate until the window holds this many counted calls [20]. */
  readonly minimumCalls?: number | undefined
}

const DEFAULT_RATE_WINDOW_MS = 60_000
const DEFAULT_MINIMUM_CALLS = 20

/** The longest open time. A longer value is usually a wrong unit; a person who wants it can force the breaker open. */
const MAX_OPEN_MS = 86_400_000

const countOrOff = custom(
  isCountOrOff,
  "give a whole number of at least 1, or 'off'",
  eitherForm({ kind: 'choice', values: ['off'] }, integer({ min: 1 }).form),
)

const failureRateRules = {
  threshold: number({ min: 0, above: true, max: 1 }),
  windowMs: withDefault(milliseconds({ min: 1_000 }), DEFAULT_RATE_WINDOW_MS),
  minimumCalls: withDefault(integer({ min: 1 }), DEFAULT_MINIMUM_CALLS),
}

export type FailureRate = Resolved<typeof failureRateRules>

/** Breaker options with every default filled in. */
export interface BreakerPolicy {
  readonly failures: number | 'off'
  readonly failureRate: FailureRate | undefined
  readonly openMs: number
  readonly openMaxMs: number | undefined
  readonly successes: number
  readonly probes: number
}

const BOTH_SIDES = { failures: 5, failureRate: undefined, openMaxMs: undefined, probes: 1 }

/** A producer can wait for its sink (the event is saved); a consumer's backlog grows, so it looks again sooner. */
export const BREAKER_PRESETS: { readonly [side in 'producer' | 'consumer']: BreakerPolicy } = Object.freeze({
  producer: Object.freeze({ ...BOTH_SIDES, openMs: 60_000, successes: 3 }),
  consumer: Object.freeze({ ...BOTH_SIDES, openMs: 30_000, successes: 2 }),
})

export type BreakerPreset = keyof typeof BREAKER_PRESETS

export function resolveBreaker(input: BreakerOptions | undefined, preset: BreakerPreset): BreakerPolicy {
  return resolveBy('breaker', breakerRule(preset), input)
}

/** For the options of a consumer or dispatcher, which report a breaker's faults together with their own. */
export function breakerRule(preset: BreakerPreset): Rule<BreakerPolicy> {
  return group(rules(BREAKER_PRESETS[preset]), relations)
}

function rules(preset: BreakerPolicy) {
  return {
    failures: withDefault(countOrOff, preset.failures),
    failureRate: optional(group(failureRateRules)),
    openMs: withDefault(milliseconds({ min: 1, max: MAX_OPEN_MS }), preset.openMs),
    openMaxMs: optional(milliseconds({ min: 1, max: MAX_OPEN_MS })),
    successes: withDefault(integer({ min: 1 }), preset.successes),
    probes: withDefault(integer({ min: 1 }), preset.probes),
  }
}

function isCountOrOff(value: unknown): value is number | 'off' {
  return value === 'off' || (Number.isSafeInteger(value) && Number(value) >= 1)
}

const relations: Relations<ReturnType<typeof rules>> = (policy, fault) => {
  if (policy.failures === 'off' && policy.failureRate === undefined) {
    fault('failures', "give a number, or failureRate beside 'off': with neither the breaker never opens")
  }
  if (policy.openMaxMs !== undefined && policy.openMaxMs < policy.openMs) {
    fault('openMaxMs', `give at least openMs (${policy.openMs}), or leave it out`)
  }
}
