import { group, type Resolved, resolveBy } from '../options/resolve.ts'
import { derived, optional, type Rule, withDefault } from '../options/rules.ts'
import {
  type Backoff,
  capIsNotBelowBase,
  DEFAULT_BASE_MS,
  DEFAULT_MAX_MS,
  delayRule,
  retriesBefore,
} from './backoff.ts'
import { DEFAULT_JITTER, type Jitter, jittered, jitterRule } from './jitter.ts'

/** Options of `linear()`. */
export interface LinearOptions {
  /** The wait before the first retry, in ms [100]. */
  readonly baseMs?: number | undefined
  /** How much longer each further wait is, in ms [`baseMs`]. */
  readonly stepMs?: number | undefined
  /** The longest wait, in ms [5 000]. */
  readonly maxMs?: number | undefined
  /**
   * How waits are spread at random, so that events that failed together are not retried together [`{ ratio: 0.1 }`].
   */
  readonly jitter?: Jitter | undefined
}

const rules = {
  baseMs: withDefault(delayRule, DEFAULT_BASE_MS),
  stepMs: optional(delayRule),
  maxMs: withDefault(delayRule, DEFAULT_MAX_MS),
  jitter: withDefault(jitterRule, DEFAULT_JITTER),
}

export const linearRule: Rule<Backoff> = derived(group(rules, capIsNotBelowBase), create)

/** base, base + step, base + 2 × step … up to the cap. */
export function linear(options: LinearOptions = {}): Backoff {
  return resolveBy('linear', linearRule, options)
}

function create({ baseMs, stepMs = baseMs, maxMs, jitter }: Resolved<typeof rules>): Backoff {
  return Object.freeze({
    kind: 'linear',
    maxMs,
    delayMs(retry, _previousDelayMs, random) {
      const delayMs = Math.min(maxMs, baseMs + stepMs * retriesBefore(retry))
      return jittered(delayMs, maxMs, jitter, random)
    },
  } satisfies Backoff)
}
