import { UNKNOWN } from './classification.ts'
import { classifyChain } from './classify-chain.ts'
import { namedDelayMs } from './delay.ts'
import type { Failure } from './failure.ts'
import type { FailureRule } from './failure-rule.ts'
import { type Fingerprint, fingerprintOf } from './fingerprint.ts'
import { stackOf } from './thrown.ts'

/** Options of `classify()`. */
export interface ClassifyOptions {
  /** The rules of the handler. The first rule that matches decides [none]. */
  readonly rules?: readonly FailureRule[] | undefined
  /** The current time in epoch milliseconds [none: `classify` ignores a Retry-After that names a date]. */
  readonly now?: number | undefined
  /** Whether the failure keeps the stack of the error [false]. */
  readonly stack?: boolean | undefined
  /** The folder of the deployed application. Fingerprints leave it out of file names [none]. */
  readonly applicationRoot?: string | undefined
}

const NO_RULES: readonly FailureRule[] = []

/** Classifies a thrown value. It never throws, and its time and result are bounded whatever was thrown. */
export function classify(thrown: unknown, options: ClassifyOptions = {}): Failure {
  const { chain, classification = UNKNOWN } = classifyChain(thrown, options.rules ?? NO_RULES)
  const [{ name, message }] = chain
  const { category, retryable, decidedBy } = classification
  const stack = options.stack ? stackOf(thrown) : undefined
  let fingerprint: Fingerprint | undefined
  return {
    name,
    message,
    code: chain.find(link => link.code !== undefined)?.code,
    category,
    retryable,
    decidedBy,
    retryAfterMs: retryable ? (classification.retryAfterMs ?? namedDelayMs(chain, options.now)) : undefined,
    get fingerprint() {
      fingerprint ??= fingerprintOf(chain, classification.fingerprint, options.applicationRoot)
      return fingerprint
    },
    ...(stack === undefined ? {} : { stack }),
  }
}
