import type { Random } from '../core/random.ts'
import type { Clock } from './clock.ts'

export function rest(clock: Clock, ms: number): Promise<void> {
  return new Promise(resolve => clock.schedule(ms, resolve))
}

/** Between half of it and all of it, so that not everyone who waits tries again at once. */
export function about(random: Random, ms: number): number {
  return Math.ceil(ms * (0.5 + random() / 2))
}

/** Waits for a promise, but no longer than so. Answers whether it ended in time; how it ended is of no interest. */
export function within(clock: Clock, limitMs: number, promise: Promise<unknown>): Promise<boolean> {
  return new Promise(resolve => {
    const cancel = clock.schedule(limitMs, () => resolve(false))
    const ended = () => {
      cancel()
      resolve(true)
    }
    promise.then(ended, ended)
  })
}
