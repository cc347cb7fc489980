import type { AttemptRecord } from '../../../core/dead-letter/letter.ts'
import type { Failure } from '../../../core/failure/failure.ts'
import type { GiveUp } from '../track/track-result.ts'
import type { Tracked } from '../track/tracked.ts'

/** The failed attempts of an item so far. An item that is written at the first attempt has none. */
interface FailureHistory {
  attempts: number
  readonly firstStartedAt: number
  /** By the clock that never steps, see `Write`. */
  readonly firstSteadyAt: number | undefined
  previousDelayMs: number
  failure: Failure
  thrown: unknown
  /** The first and the latest; `attempts` counts all of them. */
  readonly records: AttemptRecord[]
}

/** One event on its way through one lane. Plain fields: there is one for every event and sink. */
export class Item {
  readonly tracked: Tracked
  readonly acceptedAt: number
  failures: FailureHistory | undefined = undefined
  /** Which flush waits for it. */
  generation = 0
  /** When its backoff is over, or its turn has come. */
  notBefore = 0
  /** Since when it asks for a turn, by the clock that never steps; the lane gives up on an item that has waited too long. */
  askedAt = 0
  order = 0

  constructor(tracked: Tracked, now: number) {
    this.tracked = tracked
    this.acceptedAt = now
  }
}

/** Gives up on an item, with the history of its failures. */
export function giveUpOn({ failures }: Item, reason: GiveUp['reason']): GiveUp {
  if (failures === undefined) return { reason }
  const { failure, thrown, records, attempts } = failures
  return { reason, failure, thrown, attempts: records, attemptCount: attempts }
}
