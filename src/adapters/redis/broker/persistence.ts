import { type Clock, delay } from '../../../ports/clock.ts'
import { StoreClosedError } from '../../../ports/store.ts'

const FIRST_BACKOFF_MS = 50
const MAX_BACKOFF_MS = 1_000

interface PersistenceSettings {
  readonly clock: Clock
  /** Never throws. */
  readonly onError: (error: unknown) => void
}

/** The rest before the next try: twice the one before. */
export function nextRest(restMs: number): number {
  return Math.min(MAX_BACKOFF_MS, Math.max(FIRST_BACKOFF_MS, restMs * 2))
}

/**
 * Tries a task until it succeeds, however long the server is away, full or a replica: an event that could not be settled
 * would only run again. Callers that wait for the task are slowed down, as intended. Resolves with undefined when
 * there is no point in trying any more.
 */
export async function persist<T>(
  { clock, onError }: PersistenceSettings,
  isPointless: () => boolean,
  task: (isRepeated: boolean) => Promise<T>,
): Promise<T | undefined> {
  for (let restMs = 0; !isPointless(); restMs = nextRest(restMs)) {
    try {
      if (restMs > 0) await delay(clock, restMs)
      return await task(restMs > 0)
    } catch (error) {
      if (error instanceof StoreClosedError) return undefined
      onError(error)
    }
  }
  return undefined
}
