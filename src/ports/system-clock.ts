// The one home of ambient time and randomness: everything else is handed a Clock and a Random. It lies beside the port
// so that runtime and adapters alike can fall back on it.
import type { Random } from '../core/random.ts'
import type { Clock } from './clock.ts'

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
export function nextTurn(): Promise<void> {
  return new Promise(resolve => setImmediate(resolve))
}
