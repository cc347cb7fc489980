import type { Clock } from '../../ports/clock.ts'

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
