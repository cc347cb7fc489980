/**
 * A token bucket by the generic cell rate algorithm: its whole state is one number, so asking allocates nothing, and
 * a place in the future can be reserved.
 *
 * That number, the theoretical arrival time `tat`, is counted in slots since the epoch, and a slot is
 * 1 / perSecond seconds. In milliseconds the slots of most rates are fractions that do not add up: a day of adding
 * 333.33 ms is off, and 9 999 a second become 10 001. Whole slots add up exactly, so for a whole `perSecond` and a
 * burst of 1 any half-open second [t, t + 1 s) sees at most `perSecond` starts, and under load exactly that many.
 * With a larger burst, t seconds see at most burst + perSecond × t.
 *
 * A bucket that was never used has the tat `IDLE`.
 */
export interface Rate {
  readonly perSecond: number
  /** How many may start at once after a quiet time. */
  readonly burst: number
  /** The length of a slot. */
  readonly intervalMs: number
}

export const IDLE = 0

/** Times are rounded to about a microsecond, so that a whole millisecond converts back to itself. */
const STEPS_PER_MS = 1_024
/** A millionth of a slot: what sums of fractions may be off by, and nothing that a clock could show. */
const ROUNDING_SLOTS = 1e-6

/** The burst is one second's worth, at least 1, unless it is given. */
export function rate(options: { readonly perSecond: number; readonly burst?: number | undefined }): Rate {
  const { perSecond, burst = Math.max(1, Math.floor(perSecond)) } = options
  return Object.freeze({ perSecond, burst, intervalMs: 1_000 / perSecond })
}

/** The earliest time one more may start; `now` means at once. */
export function notBefore(rate: Rate, tat: number, now: number): number {
  const earliest = tat - (rate.burst - 1)
  return earliest <= toSlots(rate, now) + ROUNDING_SLOTS ? now : toMs(rate, earliest)
}

/** The tat once one more is taken. It starts at `notBefore`, so taking before that time is reserving. */
export function advance(rate: Rate, tat: number, now: number): number {
  return Math.max(tat, toSlots(rate, now)) + 1
}

/**
 * For a bucket from which nothing is ever reserved: its tat lies no further ahead than taking could have brought it. Without
 * this it would refuse everything for years after its rate was lowered, because the slots of a lower rate are longer.
 */
export function withoutReservations(rate: Rate, tat: number, now: number): number {
  return Math.min(tat, toSlots(rate, now) + rate.burst)
}

/** Moves the tat along with a clock that was set from one time to another, reservations included. */
export function moveClock(rate: Rate, tat: number, from: number, to: number): number {
  return tat + toSlots(rate, to) - toSlots(rate, from)
}

// Both conversions split off the whole seconds, which are whole slots, and round only what is left of a second. So
// a second later is always exactly `perSecond` slots later, and `perSecond` slots later exactly a second.

function toSlots(rate: Rate, ms: number): number {
  const seconds = Math.floor(ms / 1_000)
  return seconds * rate.perSecond + ((ms - seconds * 1_000) * rate.perSecond) / 1_000
}

function toMs(rate: Rate, slots: number): number {
  const seconds = Math.floor(slots / rate.perSecond)
  const restMs = ((slots - seconds * rate.perSecond) * 1_000) / rate.perSecond
  return seconds * 1_000 + Math.round(restMs * STEPS_PER_MS) / STEPS_PER_MS
}
