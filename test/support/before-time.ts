import { systemClock } from '../../src/ports/clock.ts'

/**
 * Prepares something before a time that it must not reach, and answers with it and that time. If the machine was too
 * slow, it prepares again with more time ahead.
 */
export async function beforeTime<T>(
  firstMs: number,
  prepare: (endsAt: number, ms: number) => Promise<T>,
): Promise<readonly [T, number]> {
  for (let ms = firstMs; ; ms *= 4) {
    const endsAt = systemClock.now() + ms
    const prepared = await prepare(endsAt, ms)
    if (systemClock.now() < endsAt) return [prepared, endsAt]
  }
}
