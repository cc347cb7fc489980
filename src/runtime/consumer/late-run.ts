import type { Told } from './told.ts'
import type { Work } from './work.ts'

/** Resolves the letter of an event whose run has succeeded after all. */
interface Resolving {
  resolveLate(run: LateRun): Promise<boolean>
}

/**
 * A run of a handler that has outlived its attempt and has not ended yet, or has ended well after all. It may outlive its
 * consumer too: then another one of the process waits for it.
 */
export class LateRun {
  readonly work: Work
  /** Why the attempt ended without it: its time was over, or its consumer closed. */
  readonly told: Told
  hasSucceeded = false
  /** Its success has settled a delivery of the event: it counts for that one, and for no copy that is published later. */
  hasSettled = false
  /** How often the event came back and could not be attempted because of this run. */
  turnsLost = 0
  /** The letter that was saved for the event meanwhile. */
  letterId: string | undefined = undefined
  /** Of the consumer that saved it, which may be another one than the run's. */
  burial: Resolving | undefined = undefined
  /** That letter was resolved, because the run succeeded. */
  isResolved = false
  /** The observer has been told that it goes on. */
  isTold = false

  constructor(work: Work, told: Told) {
    this.work = work
    this.told = told
  }
}
