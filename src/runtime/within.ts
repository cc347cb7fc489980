import type { Clock } from '../ports/clock.ts'

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
