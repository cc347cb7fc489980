import { group, type Resolved, resolveBy } from '../options/resolve.ts'
import { derived, number, type Rule, withDefault } from '../options/rules.ts'
import {
  type Backoff,
  capIsNotBelowBase,
  DEFAULT_BASE_MS,
  DEFAULT_MAX_MS,
  delayRule,
  retriesBefore,
} from './backoff.ts'
import { DEFAULT_JITTER, type Jitter, jittered, jitterRule } from './jitter.ts'

/** Options of `exponential()`. */
export interface ExponentialOptions {
  /** The wait before the first retry, in ms [100]. */
  readonly baseMs?: number | undefined
  /** The longest wait, in ms [5 000]. */
  readonly maxMs?: number | undefined
  /** Each wait is this many times the one before [2]. */
  readonly multiplier?: number | undefined
  /**
   * How waits are spread at random, so that events that failed together are not retried together [`{ ratio: 0.1 }`].
   */
  readonly jitter?: Jitter | undefined
}

const DEFAULT_MULTIPLIER = 2

const rules = {
  baseMs: withDefault(delayRule, DEFAULT_BASE_MS),
  maxMs: withDefault(delayRule, DEFAULT_MAX_MS),
  multiplier: withDefault(number({ min: 1 }), DEFAULT_MULTIPLIER),
  jitter: withDefault(jitterRule, DEFAULT_JITTER),
}

export const exponentialRule: Rule<Backoff> = derived(group(rules, capIsNotBelowBase), create)

/** base, base × m, base × m² … up to the cap. */
export function exponential(options: ExponentialOptions = {}): Backoff {
  return resolveBy('exponential', exponentialRule, options)
}

function create({ baseMs, maxMs, multiplier, jitter }: Resolved<typeof rules>): Backoff {
  return Object.freeze({
    kind: 'exponential',
    maxMs,
    delayMs(retry, _previousDelayMs, random) {
      const factor = multiplier ** retriesBefore(retry)
      // The power of a late retry is infinite, which the cap takes care of, unless the base is 0.
      const delayMs = baseMs === 0 ? 0 : Math.min(maxMs, baseMs * factor)
      return jittered(delayMs, maxMs, jitter, random)
    },
  } satisfies Backoff)
}
