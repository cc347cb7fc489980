import { classify } from '../../core/failure/classify.ts'
import type { Failure } from '../../core/failure/failure.ts'

const MAX_CACHED = 1_000

/** The words of another program about a failure. */
interface ForeignError {
  readonly name: string
  readonly message: string
  readonly code?: string | undefined
  /** Left out of the fingerprint, because its lines belong to another language. The message distinguishes the causes. */
  readonly stack?: string | undefined
}

/**
 * Caches the failures of messages. Many messages of a dead-letter queue have the same failure, and classifying it takes
 * longer than the rest of the reading.
 */
export class FailureCache {
  readonly #known = new Map<string, Failure>()

  of({ name, message, code, stack }: ForeignError): Failure {
    const key = `${name}\n${code ?? ''}\n${message}`
    let failure = this.#known.get(key)
    if (failure === undefined) {
      const classified = classify({ name, message, code })
      // The fingerprint is computed on access. A copy must contain its value.
      failure = { ...classified, fingerprint: classified.fingerprint }
      if (this.#known.size >= MAX_CACHED) this.#known.clear()
      this.#known.set(key, failure)
    }
    return stack === undefined ? failure : { ...failure, stack }
  }
}
