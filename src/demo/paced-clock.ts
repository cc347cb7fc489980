import type { Clock } from '../ports/clock.ts'

/** A clock that runs `pace` times as fast, so that a returning viewer can shorten the demo. */
export function pacedClock(clock: Clock, pace: number): Clock {
  if (pace === 1) return clock
  const start = clock.now()
  return {
    now: () => start + Math.floor((clock.now() - start) * pace),
    schedule: (delayMs, task) => clock.schedule(delayMs / pace, task),
  }
}
