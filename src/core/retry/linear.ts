import { resolveOptions } from '../options/resolve.ts'
import { optional, withDefault } from '../options/rules.ts'
import {
  type Backoff,
  capIsNotBelowBase,
  DEFAULT_BASE_MS,
  DEFAULT_MAX_MS,
  delayRule,
  retriesBefore,
} from './backoff.ts'
import { DEFAULT_JITTER, type Jitter, jittered, jitterRule } from './jitter.ts'

interface LinearOptions {
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

/** base, base + step, base + 2 × step … up to the cap. */
export function linear(options: LinearOptions = {}): Backoff {
  const {
    baseMs,
    stepMs = baseMs,
    maxMs,
    jitter,
  } = resolveOptions('linear', rules, options, capIsNotBelowBase)
  return Object.freeze({
    kind: 'linear',
    maxMs,
    delayMs(retry, _previousDelayMs, random) {
      const delayMs = Math.min(maxMs, baseMs + stepMs * retriesBefore(retry))
      return jittered(delayMs, maxMs, jitter, random)
    },
  } satisfies Backoff)
}
