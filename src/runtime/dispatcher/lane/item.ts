import type { AttemptRecord } from '../../../core/dead-letter/letter.ts'
import type { Failure } from '../../../core/failure/failure.ts'
import type { Tracked } from '../track/tracked.ts'

/** What has gone wrong with an item so far. One that is written at the first attempt never has it. */
export interface Trouble {
  attempts: number
  readonly firstStartedAt: number
  previousDelayMs: number
  failure: Failure
  thrown: unknown
  /** The first and the latest; `attempts` tells how many there were. */
  readonly records: AttemptRecord[]
}

/** One event on its way through one lane. Plain fields: there is one for every event and sink. */
export class Item {
  readonly tracked: Tracked
  readonly acceptedAt: number
  trouble: Trouble | undefined = undefined
  /** Which flush waits for it. */
  generation = 0
  /** When its backoff is over, or its turn has come. */
  notBefore = 0
  /** Since when it asks for a turn; what has waited too long is given up on. */
  askedAt = 0
  order = 0

  constructor(tracked: Tracked, now: number) {
    this.tracked = tracked
    this.acceptedAt = now
  }
}
