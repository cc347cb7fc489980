import { callable, having, withDefault } from '../core/options/rules.ts'
import type { Random } from '../core/random.ts'
/** Cancels a scheduled task. Calling it twice, or after the task ran, does nothing. */
export type Cancel = () => void

/**
 * The source of time. All code reads the time and waits through a clock, so that a test can simulate hours in a
 * millisecond and the simulator can set the clock back or forward.
 *
 * - `now()` is UTC epoch milliseconds. It may step in either direction (NTP does that), so code that measures a
 *   duration limits the effect of a step.
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
 * A wall clock that ignores later corrections, because the wait of a retry must not change when the clock is set. Two
 * processes that started before and after a correction disagree, so each limits the times that it reads from the other.
 */
export function steadyTime(clock: Clock): () => number {
  const base = clock.now() - monotonicNow(clock)
  return () => Math.round(base + monotonicNow(clock))
}

// The only use of the real clock and of Math.random; all other code receives a Clock and a Random. The defaults are next to
// the port, so that runtime and adapters can both use them.

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

/** The system clock for background work. Its timers do not keep the process alive. */
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

/** Resolves in the next iteration of the event loop, after all pending promise callbacks have run. */
export function yieldToEventLoop(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}

/** The rule of every option `clock`, with the system clock as the default. */
export const clockRule = withDefault(
  having<Clock>('give a clock with now() and schedule()', 'now', 'schedule'),
  systemClock,
)

/** The rule of every option `random`, with Math.random as the default. */
export const randomRule = withDefault(
  callable<Random>('give a function that returns a number from 0 up to 1'),
  systemRandom,
)

/** The options `clock` and `random`, which everything has that waits, or spreads its waits at random. */
export interface ClockAndRandomOptions {
  /** Supplies the time and the timers [the system clock]. Replace it in tests. */
  readonly clock?: Clock | undefined
  /** Supplies random numbers from 0 up to 1 [`Math.random`]. Replace it in tests with a seeded function. */
  readonly random?: Random | undefined
}

/** The rules of `ClockAndRandomOptions`. */
export const clockAndRandomRules = { clock: clockRule, random: randomRule }

/** Resolves after the given number of milliseconds. */
export function delay(clock: Clock, ms: number): Promise<void> {
  return new Promise(resolve => clock.schedule(ms, resolve))
}

/** A random delay between half of `ms` and all of it, so that waiting clients do not retry at the same moment. */
export function equalJitter(random: Random, ms: number): number {
  return Math.ceil(ms * (0.5 + random() / 2))
}

/**
 * Resolves with true if the promise settles within the limit, whether it resolves or rejects. Resolves with false at the limit,
 * or as soon as the signal aborts.
 */
export function settlesWithin(
  clock: Clock,
  limitMs: number,
  promise: Promise<unknown>,
  signal?: AbortSignal,
): Promise<boolean> {
  return new Promise(resolve => {
    const end = (isSettled: boolean) => {
      cancel()
      signal?.removeEventListener('abort', giveUp)
      resolve(isSettled)
    }
    const giveUp = () => end(false)
    const cancel = clock.schedule(limitMs, giveUp)
    if (signal?.aborted) giveUp()
    else signal?.addEventListener('abort', giveUp, { once: true })
    const settled = () => end(true)
    promise.then(settled, settled)
  })
}

/** Settles as the work does, or rejects when the signal aborts first. The work itself continues: stop it by other means. */
export function untilAborted<T>(work: PromiseLike<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = () => reject(signal.reason)
    if (signal.aborted) stop()
    else signal.addEventListener('abort', stop, { once: true })
    work.then(
      value => {
        signal.removeEventListener('abort', stop)
        resolve(value)
      },
      error => {
        signal.removeEventListener('abort', stop)
        reject(error)
      },
    )
  })
}
