import type { StallReporter } from '../../../../adapter-kit/delivery/stalls.ts'
import type { StalledPart } from '../../../../ports/broker.ts'
import { delay, equalJitter } from '../../../../ports/clock.ts'
import type { NatsSettings } from '../../options.ts'

const FIRST_BACKOFF_MS = 100
const MAX_BACKOFF_MS = 15_000

/** Tries until it works, for as long as that is wanted. */
export async function persist(
  { clock, random }: NatsSettings,
  stalls: StallReporter,
  isWanted: () => boolean,
  place: StalledPart,
  work: () => Promise<void>,
): Promise<boolean> {
  const token = {}
  let tries = 0
  for (let restMs = FIRST_BACKOFF_MS; isWanted(); restMs = Math.min(MAX_BACKOFF_MS, restMs * 2)) {
    try {
      await work()
      if (tries > 0) stalls.recovered(place)
      return isWanted()
    } catch (error) {
      tries++
      stalls.stalled(place, token, error as Error)
      await delay(clock, equalJitter(random, restMs))
    }
  }
  stalls.gaveUp(place, token)
  return false
}
