import { type Category, type Classification, isCategory } from './classification.ts'
import { LazaretError } from './errors.ts'
import { property, type Thrown, textProperty } from './thrown.ts'

/** Options of `PermanentError` and `TransientError`. */
export interface SignalOptions {
  /**
   * The category of the failure [`PermanentError`: business; the others: transient]. Retries can differ by category.
   */
  readonly category?: Category | undefined
  /** Failures with the same key form one group, whatever their message or stack [computed from the error]. */
  readonly fingerprint?: string | undefined
  /** The error that caused this one, as in `new Error(message, { cause })` [none]. */
  readonly cause?: unknown
}

/** Options of `RetryAfterError`. */
export interface RetryAfterOptions extends SignalOptions {
  /** The wait before the next attempt, in ms. A value that is negative or not finite counts as not given. */
  readonly delayMs: number
}

type SignalCode = 'LAZARET_PERMANENT' | 'LAZARET_TRANSIENT' | 'LAZARET_RETRY_AFTER'

const MEANINGS: Readonly<Record<SignalCode, Classification>> = {
  LAZARET_PERMANENT: { decidedBy: 'error-itself', retryable: false, category: 'business' },
  LAZARET_TRANSIENT: { decidedBy: 'error-itself', retryable: true, category: 'transient' },
  LAZARET_RETRY_AFTER: { decidedBy: 'error-itself', retryable: true, category: 'transient' },
}

/** An error by which a handler says what its failure means. */
class Signal extends LazaretError {
  readonly category: Category
  readonly fingerprint: string | undefined

  constructor(message: string, code: SignalCode, options: SignalOptions) {
    const { retryable, category } = MEANINGS[code]
    super(message, { code, retryable, ...('cause' in options ? { cause: options.cause } : {}) })
    this.category = options.category ?? category
    this.fingerprint = options.fingerprint
  }
}

/** Trying again cannot help: the event is given up on at once. */
export class PermanentError extends Signal {
  override readonly name: string = 'PermanentError'

  constructor(message: string, options: SignalOptions = {}) {
    super(message, 'LAZARET_PERMANENT', options)
  }
}

/** Trying again may help, whatever the error that lies beneath looks like. */
export class TransientError extends Signal {
  override readonly name: string = 'TransientError'

  constructor(message: string, options: SignalOptions = {}) {
    super(message, 'LAZARET_TRANSIENT', options)
  }
}

/** Trying again may help after a while that the thrower knows better than any policy. */
export class RetryAfterError extends Signal {
  override readonly name: string = 'RetryAfterError'
  /**
   * One that is not a finite number of at least 0 counts as not given: to throw here would hide the original failure.
   */
  readonly delayMs: number

  constructor(message: string, options: RetryAfterOptions) {
    super(message, 'LAZARET_RETRY_AFTER', options)
    this.delayMs = options.delayMs
  }
}

/** Goes by the code, so that a signal from a second copy of this package is understood as well. */
export function readSignal({ code, value }: Thrown): Classification | undefined {
  if (!isSignalCode(code)) return undefined
  const category = property(value, 'category')
  const fingerprint = textProperty(value, 'fingerprint')
  return {
    ...MEANINGS[code],
    ...(isCategory(category) ? { category } : {}),
    ...(fingerprint ? { fingerprint } : {}),
  }
}

function isSignalCode(code: string | undefined): code is SignalCode {
  return code !== undefined && Object.hasOwn(MEANINGS, code)
}
