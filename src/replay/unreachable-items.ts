import type { ReplayItem } from '../ports/replays.ts'

/** The wait before somebody is looked for again who can send the items. */
const LOOK_AGAIN_MS = 1_000

/**
 * Items that may have been sent, and that nobody can send again at the moment. Their events may arrive, so their letters stay
 * `replaying` until they have an outcome, somebody can send them, or a person cancels the replay.
 */
export class UnreachableItems {
  #items: ReplayItem[] = []
  #addedAt = Number.NEGATIVE_INFINITY
  #reason: string | undefined

  /** Why nobody can send the item that was added last; undefined if there is none. */
  get reason(): string | undefined {
    return this.#items.length === 0 ? undefined : this.#reason
  }

  add(item: ReplayItem, reason: string, now: number): void {
    this.#items.push(item)
    this.#addedAt = now
    this.#reason = reason
  }

  has({ position }: ReplayItem): boolean {
    return this.#items.some(item => item.position === position)
  }

  /** Takes out the items for which it is time to look again. */
  due(now: number): readonly ReplayItem[] {
    // The absolute difference also covers a clock that was set back.
    return Math.abs(now - this.#addedAt) < LOOK_AGAIN_MS ? [] : this.#items.splice(0)
  }
}
