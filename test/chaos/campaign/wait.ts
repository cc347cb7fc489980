import { systemClock } from '../../../src/ports/clock.ts'

export function pause(ms: number): Promise<void> {
  return new Promise(resolve => systemClock.schedule(ms, resolve))
}

/** Looks again and again; rejects when it takes longer than that. */
export async function until(
  isSo: () => boolean | Promise<boolean>,
  what: () => string,
  limitMs: number,
): Promise<void> {
  const giveUpAt = systemClock.now() + limitMs
  while (!(await isSo())) {
    if (systemClock.now() > giveUpAt) throw new Error(`${what()}: not within ${limitMs} ms`)
    await pause(100)
  }
}
