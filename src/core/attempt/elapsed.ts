/** The times of an attempt, by the wall clock of the process that made it. */
interface AttemptTimes {
  readonly startedAt: number
  readonly endedAt?: number | undefined
  /** The wait after it. */
  readonly delayMs?: number | undefined
}

/**
 * The time since the first attempt started, where the attempts may be of several processes: only their wall clocks are known.
 * Where a clock was set back, or is behind that of the process before, the wait that was decided counts instead. So a
 * clock that is set back never makes this less than the attempts and their waits took.
 */
export function elapsedOf(past: readonly AttemptTimes[], startedAt: number, now: number): number {
  let sumMs = Math.max(0, now - startedAt)
  let next = startedAt
  for (let index = past.length - 1; index >= 0; index--) {
    const { startedAt, endedAt = startedAt, delayMs = 0 } = past[index]!
    sumMs += next >= endedAt ? next - endedAt : delayMs
    sumMs += Math.max(0, endedAt - startedAt)
    next = startedAt
  }
  return sumMs
}
