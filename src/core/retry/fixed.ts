import { group, type Resolved, resolveBy } from '../options/resolve.ts'
import { derived, type Rule, withDefault } from '../options/rules.ts'
import { type Backoff, delayRule } from './backoff.ts'
import { type Jitter, jittered, jitterRule } from './jitter.ts'

/** Options of `fixed()`. */
export interface FixedOptions {
  /** The wait before every retry, in ms [1 000]. */
  readonly delayMs?: number | undefined
  /** How waits are spread at random, so that events that failed together are not retried together [none]. */
  readonly jitter?: Jitter | undefined
}

const DEFAULT_FIXED_DELAY_MS = 1_000

const rules = {
  delayMs: withDefault(delayRule, DEFAULT_FIXED_DELAY_MS),
  // A fixed delay has no jitter by default, because its name promises exactly that delay.
  jitter: withDefault(jitterRule, 'none'),
}

export const fixedRule: Rule<Backoff> = derived(group(rules), create)

/** The same wait every time. Its cap is the longest wait its jitter can make of it. */
export function fixed(options: FixedOptions = {}): Backoff {
  return resolveBy('fixed', fixedRule, options)
}

function create({ delayMs, jitter }: Resolved<typeof rules>): Backoff {
  const maxMs = typeof jitter === 'object' ? delayMs + delayMs * jitter.ratio : delayMs
  return Object.freeze({
    kind: 'fixed',
    maxMs,
    delayMs: (_retry, _previousDelayMs, random) => jittered(delayMs, maxMs, jitter, random),
  } satisfies Backoff)
}
