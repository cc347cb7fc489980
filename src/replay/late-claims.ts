import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { ReplayItem } from '../ports/replays.ts'

/**
 * The items that an earlier runner may still claim. The store can carry out a claim long after its runner has ended or lost its
 * lease. If another runner has skipped the letter by then, nobody sends it, and it would stay `replaying`.
 *
 * A runner claims one letter at a time, in order. So the items are in the first batch that the next runner takes. That
 * one marks those that it skips by the cycle of the late claim, and `returnGivenUpLetters` looks at the marked ones.
 */
export class LateClaims {
  #last: number | undefined

  /** Takes the waiting items of a batch. Only those of the first batch count. */
  see(batch: readonly ReplayItem[]): void {
    this.#last ??= batch.at(-1)?.position
  }

  markOf({ position }: ReplayItem, { replays }: DeadLetter): Pick<ReplayItem, 'cycle'> {
    return position <= (this.#last ?? -1) ? { cycle: replays + 1 } : {}
  }
}
