import type { Cancel, Clock } from '../../ports/clock.ts'

/** Between two looks at the deadlines at most this long, so an idle process is not held open by a long timeout. */
const LOOK_EVERY_MS = 50
/** A gap this much longer than planned is a stepped clock or a blocked event loop, not time an attempt had. */
const GAP_ALLOWED_MS = 1_000

/** A task that must end by a certain time. Linked into its lane so that ending in time costs two pointer writes. */
export interface Deadline {
  expire(): void
  dueAt: number
  previous: Deadline | undefined
  next: Deadline | undefined
}

/** All deadlines of one duration. They fall due in the order they were added, so only the first needs a look. */
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

  /** Ends it in time. Ending twice, or after it fired, does nothing. */
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
 * One coarse timer for all deadlines of a clock: a timer per call would cost more than everything else a call does.
 * A deadline fires when it is due or a moment later. When the clock steps by more than a second, or the event loop
 * was blocked that long, the gap is not charged to anyone: no attempt had that time to work in.
 */
export class Deadlines {
  readonly #clock: Clock
  readonly #lanes = new Map<number, DeadlineLane>()
  #cancelLook: Cancel | undefined
  #lookAt = Number.POSITIVE_INFINITY
  /** What the clock showed last. */
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

  /** When something that starts now is due, in time that is not charged for gaps. */
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
   * Between two looks the clock cannot have got further than to the next one. Where it has, it was set, and what starts
   * now must be measured by the same clock as what started before.
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

/** The deadlines that everything on this clock shares. */
export function deadlinesOf(clock: Clock): Deadlines {
  let deadlines = ofClock.get(clock)
  if (deadlines === undefined) {
    deadlines = new Deadlines(clock)
    ofClock.set(clock, deadlines)
  }
  return deadlines
}
