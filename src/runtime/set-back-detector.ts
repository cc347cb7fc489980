import { type Clock, monotonicNow } from '../ports/clock.ts'

/**
 * Tells how far a wall clock was set back between two looks at it, for state that moves with the clock. The clock that never
 * steps is read only after a step back, because a second clock would cost every call. It tells how much time has passed
 * meanwhile, unless the wall clock was also set forward since: then none counts as passed.
 */
export class SetBackDetector {
  readonly #clock: Clock
  /** The latest time that was seen. Before the first look, every clock seems to be set back. */
  #seenAt = Number.POSITIVE_INFINITY
  /** The wall clock less the one that never steps, since the wall clock was last set back. */
  #offset = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** By how much to move the state: 0, or less where the clock was set back. */
  look(now: number): number {
    const seenAt = this.#seenAt
    this.#seenAt = now
    return now < seenAt ? this.#measure(now, seenAt) : 0
  }

  #measure(now: number, seenAt: number): number {
    const steady = monotonicNow(this.#clock)
    const unset = seenAt === Number.POSITIVE_INFINITY ? now : Math.max(seenAt, this.#offset + steady)
    this.#offset = now - steady
    return now - unset
  }
}
