import { callable, custom, withDefault } from '../core/options/rules.ts'
import type { Random } from '../core/random.ts'
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

// The one home of ambient time and randomness: everything else is handed a Clock and a Random. It lies beside the port
// so that runtime and adapters alike can fall back on it.

/** The clock of the machine. It is the default of every `clock` option. */
export const systemClock: Clock = {
  // biome-ignore lint/plugin: the one home of ambient time
  now: Date.now,
  monotonic: () => performance.now(),
  schedule(delayMs, task) {
    const timer = setTimeout(task, delayMs)
    return () => clearTimeout(timer)
  },
}

/** The same for what may be left undone at the end: its timers do not keep the process alive. */
export const backgroundClock: Clock = {
  now: systemClock.now,
  monotonic: () => performance.now(),
  schedule(delayMs, task) {
    const timer = setTimeout(task, delayMs).unref()
    return () => clearTimeout(timer)
  },
}

// biome-ignore lint/plugin: the one home of ambient chance
export const systemRandom: Random = Math.random

/** Resolves in the next turn of the event loop: all that waits on promises alone has run to its end by then. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}

/** The option `clock` of whatever reads the time: the system's unless another is given. */
export const clockRule = withDefault(custom(isClock, 'give a clock with now() and schedule()'), systemClock)

/** The option `random` of whatever draws chances: the system's unless another is given. */
export const randomRule = withDefault(
  callable<Random>('give a function that returns a number from 0 up to 1'),
  systemRandom,
)

function isClock(value: unknown): value is Clock {
  const clock = value as Partial<Clock> | null | undefined
  return typeof clock?.now === 'function' && typeof clock.schedule === 'function'
}

/** Resolves after so many milliseconds of the clock. */
export function delay(clock: Clock, ms: number): Promise<void> {
  return new Promise(resolve => clock.schedule(ms, resolve))
}

/** Between half of it and all of it, so that not everyone who waits tries again at once. */
export function equalJitter(random: Random, ms: number): number {
  return Math.ceil(ms * (0.5 + random() / 2))
}

/** Waits for a promise, but no longer than so. Answers whether it ended in time; how it ended is of no interest. */
export function settlesWithin(clock: Clock, limitMs: number, promise: Promise<unknown>): Promise<boolean> {
  return new Promise(resolve => {
    const cancel = clock.schedule(limitMs, () => resolve(false))
    const ended = () => {
      cancel()
      resolve(true)
    }
    promise.then(ended, ended)
  })
}
