import type { StallPlace, SubscriptionStatus } from '../../ports/broker.ts'

/** Tells a subscriber once that a place holds it up, and once that it does so no more. */
export class StallReporter {
  readonly #tell: (news: SubscriptionStatus) => void
  /** What is held up at each place. A place without an entry works. */
  readonly #heldUp = new Map<StallPlace, Set<object>>()

  constructor(tell: (news: SubscriptionStatus) => void = () => {}) {
    this.#tell = tell
  }

  /** `work` is what cannot go on; it is named again when it ends. */
  stalled(place: StallPlace, work: object, error: Error): void {
    const heldUp = this.#heldUp.get(place) ?? new Set()
    const isFirst = heldUp.size === 0
    heldUp.add(work)
    this.#heldUp.set(place, heldUp)
    if (isFirst) this.#tell({ state: 'stalled', place, error })
  }

  /** One got through, so that the place works for the others too. */
  recovered(place: StallPlace): void {
    if (this.#heldUp.delete(place)) this.#tell({ state: 'recovered', place })
  }

  /** It is not tried any more. Nobody knows better than that the place works, when nothing else waits for it. */
  gaveUp(place: StallPlace, work: object): void {
    const heldUp = this.#heldUp.get(place)
    if (heldUp?.delete(work) && heldUp.size === 0) this.recovered(place)
  }
}
