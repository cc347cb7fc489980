import type { Random } from '../../core/random.ts'
import type { Clock } from '../../ports/clock.ts'

/** How long a shutdown waits for any one word of the server. */
export const CLOSE_MS = 5_000

export function rest(clock: Clock, ms: number): Promise<void> {
  return new Promise(resolve => clock.schedule(ms, resolve))
}

/** Waits for it, but no longer than so. How it ended is of no interest. */
export function atMost(clock: Clock, limitMs: number, work: Promise<unknown>): Promise<void> {
  return new Promise(resolve => {
    const cancel = clock.schedule(limitMs, resolve)
    const ended = () => {
      cancel()
      resolve()
    }
    work.then(ended, ended)
  })
}

/** Between half of it and all of it, so that not everyone who waits tries again at once. */
export function restAbout(clock: Clock, random: Random, ms: number): Promise<void> {
  return rest(clock, Math.ceil(ms * (0.5 + random() / 2)))
}
