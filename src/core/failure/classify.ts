import type { CauseChain } from './chain.ts'
import { type Category, type Classification, type DecidedBy, UNKNOWN } from './classification.ts'
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
  const failure = new ClassifiedFailure(chain, classification, options)
  const stack = options.stack ? stackOf(thrown) : undefined
  if (stack !== undefined) failure.stack = stack
  return failure
}

/**
 * A failure with a fingerprint that is computed on access. All failures share one getter: with a getter of its own, as a
 * literal has it, each failure would take a kilobyte.
 */
class ClassifiedFailure implements Failure {
  static readonly #lazyFingerprint: PropertyDescriptor & ThisType<ClassifiedFailure> = {
    // Copies and JSON contain the fingerprint.
    enumerable: true,
    get() {
      this.#fingerprint ??= fingerprintOf(this.#chain, this.#explicit, this.#applicationRoot)
      return this.#fingerprint
    },
  }
  readonly name: string
  readonly message: string
  readonly code: string | undefined
  readonly category: Category
  readonly retryable: boolean
  readonly decidedBy: DecidedBy
  readonly retryAfterMs: number | undefined
  declare readonly fingerprint: Fingerprint
  declare stack?: string
  readonly #chain: CauseChain
  readonly #explicit: string | undefined
  readonly #applicationRoot: string | undefined
  #fingerprint: Fingerprint | undefined

  constructor(
    chain: CauseChain,
    { category, retryable, decidedBy, retryAfterMs, fingerprint }: Classification,
    { now, applicationRoot }: ClassifyOptions,
  ) {
    this.name = chain[0].name
    this.message = chain[0].message
    this.code = nearestCode(chain)
    this.category = category
    this.retryable = retryable
    this.decidedBy = decidedBy
    this.retryAfterMs = retryable ? (retryAfterMs ?? namedDelayMs(chain, now)) : undefined
    this.#chain = chain
    this.#explicit = fingerprint
    this.#applicationRoot = applicationRoot
    Object.defineProperty(this, 'fingerprint', ClassifiedFailure.#lazyFingerprint)
  }
}

function nearestCode(chain: CauseChain): string | undefined {
  for (const { code } of chain) if (code !== undefined) return code
  return undefined
}
