import type { Category } from '../failure/failure.ts'

interface ReasonFacts {
  /** What happened, in one line for the person who looks at the letter. */
  readonly text: string
  /** Used when there is no failure to take the category from. */
  readonly category: Category
  /** The letter must not be replayed unchanged, so it starts in quarantine. */
  readonly quarantines: boolean
}

/** Why an event was given up on. A reason is stored and is a metric's label: it is never renamed, only added. */
export const REASONS = {
  attempts_exhausted: facts('Every attempt the retry policy allows has failed.', 'unknown'),
  permanent: facts('The failure says that trying again cannot help.', 'unknown'),
  elapsed: facts('The time allowed for all attempts together is over.', 'transient'),
  poison: quarantine('The same failure came back on this event again and again.', 'unknown'),
  crash_loop: quarantine('Attempts on this event began and never ended: it kills the process.', 'unknown'),
  rate_limited: facts('The entry rate limit refused a new event.', 'transient'),
  retry_limited: facts('The limit on retries refused another attempt.', 'transient'),
  retry_budget: facts('Retries had used up their share of the traffic.', 'transient'),
  still_running: facts(
    'The handler ran on after its timeout, so no further attempt could start.',
    'transient',
  ),
  breaker_open: facts('The circuit breaker of its handler or sink was open.', 'transient'),
  expired: facts('The event outlived its time to live before it was handled.', 'business'),
  undecodable: facts('The message could not be read as an event.', 'schema'),
  schema: facts('The payload does not fit the schema of its channel.', 'schema'),
  oversized: facts('The event is larger or deeper than the limits allow.', 'schema'),
  unroutable: facts('The broker had nowhere to put it: no queue, topic or subscriber.', 'integration'),
  tracking_failed_in_job: facts('Tracking it failed inside a background job, which went on.', 'transient'),
  buffer_full: facts('The buffer in front of its sink was full.', 'transient'),
  shutdown: facts('The process ended before the event could be sent.', 'transient'),
  collected: facts("Found in another system's dead-letter queue.", 'unknown'),
} as const satisfies Readonly<Record<string, ReasonFacts>>

/** Why Lazaret gave up on an event. */
export type Reason = keyof typeof REASONS

function isReason(value: unknown): value is Reason {
  return typeof value === 'string' && Object.hasOwn(REASONS, value)
}

/** A letter of a newer writer may carry a reason this version has no prose for. */
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
