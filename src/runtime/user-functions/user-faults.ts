import type { ErrorSubject } from '../../core/dead-letter/subject-masks.ts'
import type { Clock } from '../../ports/clock.ts'
import type { Observer, UserFunction } from '../../ports/observer.ts'
import { observe } from '../observe.ts'
import { errorText, observerFaults } from './observer-faults.ts'

/** What `health()` shows of the functions that were handed in as options. */
export interface UserFunctionHealth {
  /** Since the start: calls that threw, rejected or answered something unusable, so that the fallback was taken. */
  readonly failures: number
  /** The latest of them; of an observer the time is not kept. */
  readonly last:
    | { readonly function: UserFunction; readonly error: string; readonly at: number | undefined }
    | undefined
}

interface UserFaultsOwner {
  /** The handler, sink or function that the options are for. */
  readonly name: string
  readonly clock: Clock
  readonly observer: Observer
}

/**
 * Counts and reports the faults of user functions. The caller of such a function reports its fault here and continues
 * with the documented fallback: a fault of an option must not become one of the event.
 */
export class UserFaults {
  readonly #owner: UserFaultsOwner
  readonly #tell: typeof observe
  #count = 0
  #last: UserFunctionHealth['last']
  /** The subject of the functions that `concerning` calls now. */
  #subject: ErrorSubject | undefined

  constructor(owner: UserFaultsOwner, tell: typeof observe = observe) {
    this.#owner = owner
    this.#tell = tell
  }

  /** Never throws. The subject tells the observer which masked values the error may quote. */
  report(which: UserFunction, error: unknown, subject: ErrorSubject | undefined = this.#subject): void {
    const { name, clock, observer } = this.#owner
    this.#count++
    this.#last = { function: which, error: errorText(error), at: clock.now() }
    this.#tell(observer, 'userFunctionFailed', { name, function: which, error, ...subject })
  }

  /** Calls functions that get no event themselves. Their faults are reported with the subject. */
  concerning<T>(subject: ErrorSubject, call: () => T): T {
    const before = this.#subject
    this.#subject = subject
    try {
      return call()
    } finally {
      this.#subject = before
    }
  }

  health(): UserFunctionHealth {
    const { count, lastError } = observerFaults(this.#owner.observer)
    const ofObserver =
      lastError === undefined
        ? undefined
        : ({ function: 'observer', error: lastError, at: undefined } as const)
    return { failures: this.#count + count, last: this.#last ?? ofObserver }
  }
}
