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
 * Tries a task until it succeeds, however long the server is away, full or a replica: an event that could not be settled
 * would only run again. Callers that wait for the task are slowed down, as intended. Resolves with undefined when
 * there is no point in trying any more.
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
