import type { Category } from '../failure/failure.ts'

interface ReasonFacts {
  /** One line for the person who looks at the letter: what happened. */
  readonly text: string
  /** The category of a letter without a failure. */
  readonly category: Category
  /** The letter must not be replayed unchanged, so it starts in quarantine. */
  readonly quarantines: boolean
}

/** The reasons for giving up on an event. Stores and metrics contain the names, so a reason is never renamed or removed. */
export const REASONS = {
  attempts_exhausted: facts('Every attempt that the retry policy allows failed.', 'unknown'),
  permanent: facts('Permanent error: retrying cannot succeed.', 'unknown'),
  elapsed: facts('The time limit for all attempts has passed.', 'transient'),
  poison: quarantine('The event failed repeatedly with the same failure.', 'unknown'),
  crash_loop: quarantine('The process crashed repeatedly while handling the event.', 'unknown'),
  rate_limited: facts('The rate limit refused the event.', 'transient'),
  retry_limited: facts('The retry limit refused another attempt.', 'transient'),
  retry_budget: facts('The retry budget was used up.', 'transient'),
  still_running: facts(
    'The handler was still running after its timeout, so no further attempt could start.',
    'transient',
  ),
  breaker_open: facts('The circuit breaker of the handler or sink was open.', 'transient'),
  expired: facts('The event expired before it was handled.', 'business'),
  undecodable: facts('The message could not be decoded as an event.', 'schema'),
  schema: facts('The payload does not match the schema of its channel.', 'schema'),
  oversized: facts('The event exceeds the limits on size or depth.', 'schema'),
  unroutable: facts('The broker could not route the event: no queue, topic or subscriber.', 'integration'),
  tracking_failed_in_job: facts('Tracking failed in a background job; the job continued.', 'transient'),
  buffer_full: facts('The buffer of the sink was full.', 'transient'),
  shutdown: facts('The process ended before the event could be sent.', 'transient'),
  collected: facts('A collector found it in the dead-letter queue of another system.', 'unknown'),
} as const satisfies Readonly<Record<string, ReasonFacts>>

/** Why Lazaret gave up on an event. */
export type Reason = keyof typeof REASONS

function isReason(value: unknown): value is Reason {
  return typeof value === 'string' && Object.hasOwn(REASONS, value)
}

/** The text of a reason, or the reason itself if a newer version wrote it. */
export function reasonText(reason: string): string {
  return isReason(reason) ? REASONS[reason].text : reason
}

/** Whether a letter with this reason starts in quarantine. */
export function quarantines(reason: Reason): boolean {
  return isReason(reason) && REASONS[reason].quarantines
}

function facts(text: string, category: Category): ReasonFacts {
  return { text, category, quarantines: false }
}

function quarantine(text: string, category: Category): ReasonFacts {
  return { text, category, quarantines: true }
}
