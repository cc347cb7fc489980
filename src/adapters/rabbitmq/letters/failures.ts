import { classify } from '../../../core/failure/classify.ts'
import type { Failure } from '../../../core/failure/failure.ts'
import { type Death, tellDeath } from './deaths.ts'
import type { Fault } from './faults.ts'

const MOST_KEPT = 1_000

/**
 * What messages failed with. Many messages of a dead-letter queue tell of one failure, and to classify it takes longer
 * than all the rest of reading a message; so those that were met are kept.
 */
export class Failures {
  readonly #known = new Map<string, Failure>()

  of(death: Death | undefined, fault: Fault | undefined): Failure | undefined {
    if (fault !== undefined) {
      const { error: name, message, stack } = fault
      // Without the stack, whose lines are of another language: it is the message that tells causes apart.
      const failure = this.#classified({ name, message, code: undefined })
      return stack === undefined ? failure : { ...failure, stack }
    }
    if (death === undefined) return undefined
    return this.#classified({ name: 'DeadLettered', code: death.reason, message: tellDeath(death) })
  }

  #classified(thrown: {
    readonly name: string
    readonly message: string
    readonly code: string | undefined
  }): Failure {
    const key = `${thrown.name}\n${thrown.code ?? ''}\n${thrown.message}`
    let failure = this.#known.get(key)
    if (failure === undefined) {
      const classified = classify(thrown)
      // Its fingerprint is worked out when it is asked for; a copy has to have it.
      failure = { ...classified, fingerprint: classified.fingerprint }
      if (this.#known.size >= MOST_KEPT) this.#known.clear()
      this.#known.set(key, failure)
    }
    return failure
  }
}
