import { systemClock } from '../../../src/ports/clock.ts'

export function pause(ms: number): Promise<void> {
  return new Promise(resolve => systemClock.schedule(ms, resolve))
}

/** Polls the condition. Rejects when it does not hold within the limit. */
export async function until(
  isSo: () => boolean | Promise<boolean>,
  what: () => string,
  limitMs: number,
): Promise<void> {
  const giveUpAt = systemClock.now() + limitMs
  while (!(await isSo())) {
    if (systemClock.now() > giveUpAt)
      throw new Error(`gave up after ${limitMs} ms: still waiting until ${what()}`)
    await pause(100)
  }
}

/** Polls the condition until it holds. Answers with false when nothing has moved for this long before that. */
export async function untilStill(
  isSo: () => boolean | Promise<boolean>,
  progress: () => number,
  limitMs: number,
): Promise<boolean> {
  let last = progress()
  for (let movedAt = systemClock.now(); !(await isSo()); await pause(500)) {
    const now = systemClock.now()
    const next = progress()
    if (next !== last) movedAt = now
    else if (now - movedAt > limitMs) return false
    last = next
  }
  return true
}
