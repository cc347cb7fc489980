import type { Told } from './failing.ts'
import type { Work } from './work.ts'

/** A run of a handler that has outlived its attempt and has not ended yet, or has ended well after all. */
export class LateRun {
  readonly work: Work
  /** The timeout, as it was told. */
  readonly told: Told
  hasSucceeded = false
  /** Its success has settled a delivery of the event: it counts for that one, and for no copy that is published later. */
  hasSettled = false
  /** How often the event came back and could not be attempted because of this run. */
  turnsLost = 0
  /** The letter that was saved for the event meanwhile. */
  letterId: string | undefined = undefined
  /** That letter was resolved, because the run succeeded. */
  isResolved = false

  constructor(work: Work, told: Told) {
    this.work = work
    this.told = told
  }
}
