import { type Clock, monotonicNow } from '../../ports/clock.ts'

/**
 * When a stored wait ends, by the monotonic clock. The wait is not longer than it was when it was stored: the clock of the process
 * that stored it can be ahead of ours.
 */
export function endOfWait(
  clock: Clock,
  { notBefore, waitMs }: { readonly notBefore: number; readonly waitMs: number },
): number {
  return monotonicNow(clock) + Math.max(0, Math.min(notBefore - clock.now(), waitMs))
}
