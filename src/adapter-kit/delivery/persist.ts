import type { Random } from '../../core/random.ts'
import type { StalledPart } from '../../ports/broker.ts'
import { type Clock, delay, equalJitter } from '../../ports/clock.ts'
import type { StallReporter } from './stalls.ts'

const FIRST_BACKOFF_MS = 100

export interface PersistOptions {
  readonly clock: Clock
  readonly random: Random
  readonly stalls: StallReporter
  /** The part that is reported as stalled while the work fails. */
  readonly part: StalledPart
  readonly maxBackoffMs: number
  /** How many failures are not reported [0]. */
  readonly quietFailures?: number | undefined
  /** False when another consumer may have the delivery. The work then ends without success. */
  isOurs(): boolean
  /** Runs after each failure, and never rejects. */
  repair?(error: unknown): Promise<void>
}

/**
 * Repeats a settlement until it is durable, for as long as the delivery is ours: an event that is not settled would run
 * again. The retries are spread, so that the deliveries of one moment do not come back together. Answers false when the
 * delivery is not ours any more, and will be delivered again.
 */
export async function persist(options: PersistOptions, work: () => Promise<void>): Promise<boolean> {
  const { clock, random, stalls, part, maxBackoffMs, quietFailures = 0 } = options
  let failures = 0
  for (let restMs = FIRST_BACKOFF_MS; options.isOurs(); restMs = Math.min(maxBackoffMs, restMs * 2)) {
    try {
      await work()
      stalls.ended(part, work)
      return options.isOurs()
    } catch (error) {
      if (++failures > quietFailures) stalls.stalled(part, work, error as Error)
      await options.repair?.(error)
      await delay(clock, equalJitter(random, restMs))
    }
  }
  stalls.ended(part, work)
  return false
}
