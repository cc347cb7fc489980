/** Takes a scheduled task back. Calling it twice, or after the task ran, does nothing. */
export type Cancel = () => void

/**
 * Where time comes from. Everything that reads the time or waits does it through a clock, so that a test can drive
 * hours in a millisecond and a simulator can make the clock jump.
 *
 * - `now()` is UTC epoch milliseconds. It may step in either direction (NTP does that), so code that measures a
 *   duration bounds what a step can do to it.
 * - `schedule` runs the task once, never before the delay is over and never synchronously. Tasks due at the same
 *   time run in the order they were scheduled. A task must not throw.
 */
export interface Clock {
  now(): number
  schedule(delayMs: number, task: () => void): Cancel
}
