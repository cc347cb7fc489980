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

/** The signal of an error whose `code` is another one, such as that of a subclass. One symbol for all copies of this package. */
const SIGNAL = Symbol.for('lazaret.signal')

/** An error with which a handler states the meaning of its failure. */
class Signal extends LazaretError {
  readonly category: Category
  readonly fingerprint: string | undefined

  constructor(message: string, code: SignalCode, options: SignalOptions) {
    const { retryable, category } = MEANINGS[code]
    super(message, { code, retryable, ...('cause' in options ? { cause: options.cause } : {}) })
    this.category = options.category ?? category
    this.fingerprint = options.fingerprint
    Object.defineProperty(this, SIGNAL, { value: code })
  }
}

/** States that a retry cannot succeed. Lazaret gives up on the event at once. */
export class PermanentError extends Signal {
  override readonly name: string = 'PermanentError'

  constructor(message: string, options: SignalOptions = {}) {
    super(message, 'LAZARET_PERMANENT', options)
  }
}

/** States that a retry may succeed, whatever the cause is. */
export class TransientError extends Signal {
  override readonly name: string = 'TransientError'

  constructor(message: string, options: SignalOptions = {}) {
    super(message, 'LAZARET_TRANSIENT', options)
  }
}

/** States that a retry may succeed after a wait that the handler knows. */
export class RetryAfterError extends Signal {
  override readonly name: string = 'RetryAfterError'
  /**
   * The wait in ms. A value that is not a finite number of at least 0 counts as not given: an error here would hide the
   * original failure.
   */
  readonly delayMs: number

  constructor(message: string, options: RetryAfterOptions) {
    super(message, 'LAZARET_RETRY_AFTER', options)
    this.delayMs = options.delayMs
  }
}

/** Compares the code and not the class, so that signals of a second copy of this package count too. */
export function signalOf({ code, value }: Thrown): SignalCode | undefined {
  if (isSignalCode(code)) return code
  const signal = property(value, SIGNAL)
  return isSignalCode(signal) ? signal : undefined
}

export function readSignal(thrown: Thrown): Classification | undefined {
  const signal = signalOf(thrown)
  if (signal === undefined) return undefined
  const { value } = thrown
  const category = property(value, 'category')
  const fingerprint = textProperty(value, 'fingerprint')
  return {
    ...MEANINGS[signal],
    ...(isCategory(category) ? { category } : {}),
    ...(fingerprint ? { fingerprint } : {}),
  }
}

function isSignalCode(code: unknown): code is SignalCode {
  return typeof code === 'string' && Object.hasOwn(MEANINGS, code)
}
