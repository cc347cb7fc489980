import { resolveOptions } from '../options/resolve.ts'
import { withDefault } from '../options/rules.ts'
import { type Backoff, delayRule } from './backoff.ts'
import { type Jitter, jittered, jitterRule } from './jitter.ts'

interface FixedOptions {
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

/** The same wait every time. Its cap is the longest wait its jitter can make of it. */
export function fixed(options: FixedOptions = {}): Backoff {
  const { delayMs, jitter } = resolveOptions('fixed', rules, options)
  const maxMs = typeof jitter === 'object' ? delayMs + delayMs * jitter.ratio : delayMs
  return Object.freeze({
    kind: 'fixed',
    maxMs,
    delayMs: (_retry, _previousDelayMs, random) => jittered(delayMs, maxMs, jitter, random),
  } satisfies Backoff)
}
