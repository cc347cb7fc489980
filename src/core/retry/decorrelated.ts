import { group, type Resolved, resolveBy } from '../options/resolve.ts'
import { derived, type Rule, withDefault } from '../options/rules.ts'
import {
  type Backoff,
  capIsNotBelowBase,
  DEFAULT_BASE_MS,
  DEFAULT_MAX_MS,
  delayRule,
  wholeMs,
} from './backoff.ts'
import { between } from './jitter.ts'

/** Options of `decorrelated()`. */
export interface DecorrelatedOptions {
  /** The shortest wait, in ms [100]. */
  readonly baseMs?: number | undefined
  /** The longest wait, in ms [5 000]. */
  readonly maxMs?: number | undefined
}

const GROWTH = 3

const rules = {
  baseMs: withDefault(delayRule, DEFAULT_BASE_MS),
  maxMs: withDefault(delayRule, DEFAULT_MAX_MS),
}

export const decorrelatedRule: Rule<Backoff> = derived(group(rules, capIsNotBelowBase), create)

/**
 * Anywhere from the base to three times the previous wait, up to the cap: it grows like an exponential backoff, and
 * two events that failed together drift apart with every retry. Before the first retry the base is the previous wait.
 */
export function decorrelated(options: DecorrelatedOptions = {}): Backoff {
  return resolveBy('decorrelated', decorrelatedRule, options)
}

function create({ baseMs, maxMs }: Resolved<typeof rules>): Backoff {
  return Object.freeze({
    kind: 'decorrelated',
    maxMs,
    delayMs(_retry, previousDelayMs, random) {
      // The previous wait may have come from elsewhere, a server's Retry-After or another tier.
      const previous = previousDelayMs > baseMs ? Math.min(previousDelayMs, maxMs) : baseMs
      return wholeMs(between(baseMs, previous * GROWTH, random), maxMs)
    },
  } satisfies Backoff)
}
