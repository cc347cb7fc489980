import type { StalledPart, SubscriptionStatus } from '../../ports/broker.ts'
import type { UnreadableLetterError } from '../../ports/dead-letters.ts'

/** Tells a subscriber once that a place holds it up, and once that it does so no more; what the retention removed, and which letters cannot be read. */
export class StallReporter {
  readonly #onStatus: (status: SubscriptionStatus) => void
  /** The stalled work by part. A part without an entry works. */
  readonly #heldUp = new Map<StalledPart, Set<object>>()

  constructor(onStatus: (status: SubscriptionStatus) => void = () => {}) {
    this.#onStatus = onStatus
  }

  /** `work` is what cannot go on; it is named again when it ends. */
  stalled(place: StalledPart, work: object, error: Error): void {
    const heldUp = this.#heldUp.get(place) ?? new Set()
    const isFirst = heldUp.size === 0
    heldUp.add(work)
    this.#heldUp.set(place, heldUp)
    if (isFirst) this.#onStatus({ state: 'stalled', place, error })
  }

  /** The part works again for everything that was stalled. */
  recovered(place: StalledPart): void {
    if (this.#heldUp.delete(place)) this.#onStatus({ state: 'recovered', place })
  }

  /** The retention of the broker removed delivered events. */
  removed(rows: number, partitions: number): void {
    this.#onStatus({ state: 'removed', rows, partitions })
  }

  /** The replay of a kept letter was settled, and the letter cannot be read. */
  unreadable(error: UnreadableLetterError): void {
    this.#onStatus({ state: 'unreadable', error })
  }

  /** The work is not stalled any more, with or without success. If no other work is stalled, the part counts as working again. */
  ended(place: StalledPart, work: object): void {
    const heldUp = this.#heldUp.get(place)
    if (heldUp?.delete(work) && heldUp.size === 0) this.recovered(place)
  }
}
