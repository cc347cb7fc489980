import { type Clock, delay } from '../../../ports/clock.ts'
import { StoreClosedError } from '../../../ports/store.ts'

const FIRST_BACKOFF_MS = 50
const MAX_BACKOFF_MS = 1_000

interface RetrySettings {
  readonly clock: Clock
  /** Never throws. */
  readonly onError: (error: unknown) => void
}

/** The rest before the next try: twice the one before. */
export function nextBackoff(backoffMs: number): number {
  return Math.min(MAX_BACKOFF_MS, Math.max(FIRST_BACKOFF_MS, backoffMs * 2))
}

/**
 * Repeats a task until it succeeds, however long the server is unreachable, full or a replica: an event that is not
 * settled would run again. Callers that await the task are slowed down, as intended. Resolves to undefined when further
 * tries make no sense.
 */
export async function retryUntilDone<T>(
  { clock, onError }: RetrySettings,
  shouldStop: () => boolean,
  task: (isRepeated: boolean) => Promise<T>,
): Promise<T | undefined> {
  for (let backoffMs = 0; !shouldStop(); backoffMs = nextBackoff(backoffMs)) {
    try {
      if (backoffMs > 0) await delay(clock, backoffMs)
      return await task(backoffMs > 0)
    } catch (error) {
      if (error instanceof StoreClosedError) return undefined
      onError(error)
    }
  }
  return undefined
}
