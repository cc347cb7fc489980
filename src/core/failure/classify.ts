import { namedDelayMs } from './delay.ts'
import type { Failure } from './failure.ts'
import type { FailureRule } from './failure-rule.ts'
import { type Fingerprint, fingerprintOf } from './fingerprint.ts'
import { judge } from './judge.ts'
import { stackOf } from './thrown.ts'
import { UNKNOWN } from './verdict.ts'

export interface ClassifyOptions {
  /** The handler's own rules, asked from first to last. */
  readonly rules?: readonly FailureRule[] | undefined
  /** Epoch milliseconds. Without it, a Retry-After that names a date is not understood. */
  readonly now?: number | undefined
  /** Keep the stack. */
  readonly stack?: boolean | undefined
  /** The folder that the application is deployed in, to be left out of file names when failures are grouped. */
  readonly applicationRoot?: string | undefined
}

const NO_RULES: readonly FailureRule[] = []

/** What a thrown value means. Total: it never throws, and is bounded in time and size whatever was thrown. */
export function classify(thrown: unknown, options: ClassifyOptions = {}): Failure {
  const { chain, verdict = UNKNOWN } = judge(thrown, options.rules ?? NO_RULES)
  const [{ name, message }] = chain
  const { category, retryable, decidedBy } = verdict
  const stack = options.stack ? stackOf(thrown) : undefined
  let fingerprint: Fingerprint | undefined
  return {
    name,
    message,
    code: chain.find(link => link.code !== undefined)?.code,
    category,
    retryable,
    decidedBy,
    retryAfterMs: retryable ? (verdict.retryAfterMs ?? namedDelayMs(chain, options.now)) : undefined,
    get fingerprint() {
      fingerprint ??= fingerprintOf(chain, verdict.fingerprint, options.applicationRoot)
      return fingerprint
    },
    ...(stack === undefined ? {} : { stack }),
  }
}
