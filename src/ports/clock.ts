/** Takes a scheduled task back. Calling it twice, or after the task ran, does nothing. */
export type Cancel = () => void

/**
 * Where time comes from. Everything that reads the time or waits does it through a clock, so that a test can drive
 * hours in a millisecond and a simulator can make the clock jump.
 *
 * - `now()` is UTC epoch milliseconds. It may step in either direction (NTP does that), so code that measures a
 *   duration bounds what a step can do to it.
 * - `monotonic()` is milliseconds since some moment of this process. It never steps, so a wait that must not follow the
 *   wall clock is measured by it. Optional: a clock without it is taken to have a wall clock that never steps.
 * - `schedule` runs the task once, never before the delay is over and never synchronously. Tasks due at the same
 *   time run in the order they were scheduled. A task must not throw.
 */
export interface Clock {
  now(): number
  monotonic?(): number
  schedule(delayMs: number, task: () => void): Cancel
}

/** Reads the clock that never steps; without one, the wall clock. */
export function monotonicNow(clock: Clock): number {
  return clock.monotonic === undefined ? clock.now() : clock.monotonic()
}

/**
 * The wall clock as it went on from this moment, whatever it is set to later: retries that wait must not follow it. Two
 * processes that began before and after it was set disagree, so what one of them wrote is bounded by the other.
 */
export function steadyTime(clock: Clock): () => number {
  const base = clock.now() - monotonicNow(clock)
  return () => Math.round(base + monotonicNow(clock))
}
