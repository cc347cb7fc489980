import type { Cancel, Clock } from '../../ports/clock.ts'

/** The longest time between two checks of the deadlines, so that a long timeout does not keep an idle process alive. */
const LOOK_EVERY_MS = 50
/** A gap that exceeds the planned one by this much is a clock step or a blocked event loop, not working time. */
const GAP_ALLOWED_MS = 1_000

/** A task that must end by a certain time. Linked into its lane so that ending in time costs two pointer writes. */
export interface Deadline {
  expire(): void
  dueAt: number
  previous: Deadline | undefined
  next: Deadline | undefined
}

/** All deadlines of one duration. They are due in the order of insertion, so only the first one is checked. */
export class DeadlineLane {
  first: Deadline | undefined
  #last: Deadline | undefined
  readonly #durationMs: number
  readonly #deadlines: Deadlines

  constructor(durationMs: number, deadlines: Deadlines) {
    this.#durationMs = durationMs
    this.#deadlines = deadlines
  }

  start(deadline: Deadline, now: number): void {
    deadline.dueAt = this.#deadlines.dueAt(now, this.#durationMs)
    deadline.previous = this.#last
    if (this.#last === undefined) this.first = deadline
    else this.#last.next = deadline
    this.#last = deadline
    this.#deadlines.lookBy(now + this.#durationMs, now)
  }

  /** Removes the deadline. Calling it twice, or after the deadline fired, does nothing. */
  end(deadline: Deadline): void {
    if (deadline.previous === undefined) {
      if (this.first !== deadline) return
      this.first = deadline.next
    } else deadline.previous.next = deadline.next
    if (deadline.next === undefined) this.#last = deadline.previous
    else deadline.next.previous = deadline.previous
    deadline.previous = undefined
    deadline.next = undefined
  }
}

/**
 * One coarse timer for all deadlines of a clock, because one timer per call would cost more than the rest of the call. A
 * deadline fires when it is due or shortly after. When the clock steps by more than a second, or the event loop is blocked
 * for that long, the gap does not count, because no attempt could work in that time.
 */
export class Deadlines {
  readonly #clock: Clock
  readonly #lanes = new Map<number, DeadlineLane>()
  #cancelLook: Cancel | undefined
  #lookAt = Number.POSITIVE_INFINITY
  /** The last time that was read from the clock. */
  #seenAt = 0
  #skippedMs = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  lane(durationMs: number): DeadlineLane {
    const lane = this.#lanes.get(durationMs) ?? new DeadlineLane(durationMs, this)
    this.#lanes.set(durationMs, lane)
    return lane
  }

  /** The current time without the gaps. */
  dueAt(now: number, durationMs: number): number {
    this.#notice(now)
    return now - this.#skippedMs + durationMs
  }

  lookBy(time: number, now: number): void {
    if (time < this.#lookAt) this.#arm(now)
  }

  #arm(now: number): void {
    this.#cancelLook?.()
    this.#cancelLook = undefined
    this.#lookAt = Number.POSITIVE_INFINITY
    const first = this.#firstDue()
    if (first === undefined) return
    const delayMs = Math.max(1, Math.min(LOOK_EVERY_MS, first + this.#skippedMs - now))
    this.#lookAt = now + delayMs
    this.#seenAt = now
    this.#cancelLook = this.#clock.schedule(delayMs, () => this.#look())
  }

  #firstDue(): number | undefined {
    let due: number | undefined
    for (const { first } of this.#lanes.values()) {
      if (first !== undefined && (due === undefined || first.dueAt < due)) due = first.dueAt
    }
    return due
  }

  /**
   * Between two checks the clock cannot pass the time of the next one. If it has, the clock was set, and a new deadline
   * must be measured like the existing ones.
   */
  #notice(now: number): void {
    const gapMs = now - this.#seenAt
    const isArmed = this.#lookAt !== Number.POSITIVE_INFINITY
    if (isArmed && (gapMs < 0 || gapMs > LOOK_EVERY_MS + GAP_ALLOWED_MS)) {
      this.#skippedMs += gapMs
      this.#lookAt += gapMs
    }
    this.#seenAt = now
  }

  #look(): void {
    const now = this.#clock.now()
    const gapMs = now - this.#lookAt
    if (gapMs > GAP_ALLOWED_MS || gapMs < 0) this.#skippedMs += gapMs
    this.#seenAt = now
    const present = now - this.#skippedMs
    for (const lane of this.#lanes.values()) {
      for (let first = lane.first; first !== undefined && first.dueAt <= present; first = lane.first) {
        lane.end(first)
        first.expire()
      }
    }
    this.#arm(now)
  }
}

const ofClock = new WeakMap<Clock, Deadlines>()

/** The shared deadlines of a clock. */
export function deadlinesOf(clock: Clock): Deadlines {
  let deadlines = ofClock.get(clock)
  if (deadlines === undefined) {
    deadlines = new Deadlines(clock)
    ofClock.set(clock, deadlines)
  }
  return deadlines
}
