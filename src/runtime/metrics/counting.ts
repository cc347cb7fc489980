import type { ErrorNameMasker } from '../../core/dead-letter/subject-masks.ts'
import type { NumberCell } from '../../core/metrics/cells.ts'
import type { Series } from '../../core/metrics/series.ts'
import type { SlidingRatio } from '../../core/metrics/sliding-ratio.ts'
import type { CounterName } from '../../core/metrics/table.ts'
import type { Clock } from '../../ports/clock.ts'
import type { LetterObservation, Observer } from '../../ports/observer.ts'
import { breakerGauge } from '../breaker.ts'
import type { MetricRegistry } from './registry.ts'

const SECOND_MS = 1_000
/** The error class of a letter without a failure: its event was refused, or had expired. */
const NO_ERROR = '(none)'

type LabelValues = [first: string, second?: string, third?: string, fourth?: string]

/** The other counters besides the registry. */
interface Tallies {
  readonly registry: MetricRegistry
  /** By name, the mode that was last observed. */
  readonly breakers: Series<NumberCell>
  readonly dispatched: SlidingRatio
  readonly clock: Clock
  /** The name of an error may quote masked values, and many people may read metrics. */
  readonly errorNames: ErrorNameMasker
}

/** The observer that counts. Every line of docs/reference/metrics.md is one here. */
export function countingObserver(tallies: Tallies): Observer {
  return { ...consuming(tallies), ...retrying(tallies), ...breaking(tallies), ...dispatching(tallies) }
}

/** Adds one to a counter, under the values of its labels. */
function counter(registry: MetricRegistry, name: CounterName): (...values: LabelValues) => void {
  const series = registry.counter(name)
  return (first, second, third, fourth) => {
    series.at(first, second, third, fourth).value++
  }
}

function consuming({ registry, errorNames }: Tallies): Observer {
  const processed = counter(registry, 'events_processed_total')
  const duration = registry.histogram('handler_duration_seconds')
  const quarantined = counter(registry, 'poison_quarantined_total')
  const filtered = counter(registry, 'dlq_filtered_total')
  const writeErrors = counter(registry, 'dlq_write_errors_total')
  const replayed = counter(registry, 'dlq_replayed_total')
  const replayFailed = counter(registry, 'dlq_replay_failed_total')
  const expired = registry.counter('dlq_expired_total')
  const removed = registry.counter('outbox_removed_total')
  const outcomes = counter(registry, 'replay_outcomes_total')
  const automatic = counter(registry, 'automatic_replay_outcomes_total')
  const letters = countingLetters(registry, errorNames)
  return {
    eventProcessed: ({ channel, outcome }) => processed(channel, outcome),
    handlerEnded: ({ channel, durationMs }) => duration.at(channel).add(durationMs / SECOND_MS),
    poisonQuarantined: ({ channel, letter }) => quarantined(channel, letter.cycle.category),
    letterSaved: letters,
    letterSpilled: letters,
    letterFiltered: ({ channel }) => filtered(channel),
    letterWriteFailed: ({ channel }) => writeErrors(channel),
    lettersExpired({ byState }) {
      for (const [state, count] of Object.entries(byState)) expired.at(state).value += count
    },
    deliveredRemoved({ broker, rows, partitions }) {
      if (rows > 0) removed.at(broker, 'row').value += rows
      if (partitions > 0) removed.at(broker, 'partition').value += partitions
    },
    replaySent: ({ channel, name }) => replayed(channel, name),
    replayOutcome({ channel, outcome }) {
      outcomes(outcome)
      if (outcome === 'failed_again') replayFailed(channel)
    },
    replayItemEnded({ status, isAutomatic }) {
      if (isAutomatic) automatic(status === 'recovered' || status === 'skipped' ? status : 'failed_again')
    },
  }
}

/** Counts each letter once: not its later versions, and not its move from the spill to the store. */
function countingLetters(
  registry: MetricRegistry,
  errorNames: ErrorNameMasker,
): (kept: LetterObservation) => void {
  const saved = counter(registry, 'dlq_saved_total')
  const attempts = registry.histogram('attempts_before_dlq')
  const fromJob = counter(registry, 'dlq_from_job_total')
  return ({ channel, letter, again }) => {
    if (again) return
    const { handler, cycle, job, detail } = letter
    const { failure, reason } = cycle
    const errorClass = failure === undefined ? NO_ERROR : errorNames.mask(failure.name, { letter })
    saved(channel, handler, reason, errorClass)
    attempts.at(channel).add(cycle.attemptCount)
    // The reason of the end, such as an open breaker: the last of a job's letters, or its only one, says that every
    // sink failed.
    if (job !== undefined) fromJob(job, String(detail?.['endedBy'] ?? reason))
  }
}

function retrying({ registry, errorNames }: Tallies): Observer {
  const attempts = counter(registry, 'retry_attempts_total')
  const delay = registry.histogram('retry_delay_seconds')
  const successes = counter(registry, 'retry_successes_total')
  const exhausted = counter(registry, 'retry_exhausted_total')
  const permanent = counter(registry, 'retry_permanent_failures_total')
  const allowed = counter(registry, 'retry_limiter_allowed_total')
  const limited = counter(registry, 'retry_limiter_limited_total')
  const batches = counter(registry, 'retry_batches_total')
  return {
    retryScheduled({ name, delayMs }) {
      attempts(name)
      delay.at(name).add(delayMs / SECOND_MS)
    },
    retrySucceeded: ({ name }) => successes(name),
    gaveUp({ name, reason, failure, event }) {
      if (reason === 'permanent') permanent(name, errorNames.mask(failure.name, { event }))
      else if (reason === 'attempts_exhausted' || reason === 'elapsed') exhausted(name)
    },
    retryAllowed: ({ name }) => allowed(name),
    retryLimited: ({ name, action }) => limited(name, action),
    retryBatchReleased: ({ name }) => batches(name),
  }
}

function breaking({ registry, breakers }: Tallies): Observer {
  const opened = counter(registry, 'breaker_opened_total')
  const closed = counter(registry, 'breaker_closed_total')
  const rejected = counter(registry, 'breaker_rejected_total')
  const checks = counter(registry, 'health_checks_total')
  return {
    breakerChanged({ name, to }) {
      breakers.at(name).value = breakerGauge(to)
      if (to === 'open' || to === 'forced-open') opened(name)
      else if (to === 'closed' || to === 'forced-closed') closed(name)
    },
    breakerRejected: ({ name }) => rejected(name),
    healthChecked: ({ name, healthy }) => checks(name, healthy ? 'healthy' : 'unhealthy'),
  }
}

function dispatching({ registry, dispatched, clock, errorNames }: Tallies): Observer {
  const dropped = counter(registry, 'retry_dropped_total')
  const limited = counter(registry, 'rate_limiter_limited_total')
  const limitedSaved = counter(registry, 'rate_limiter_dlq_saved_total')
  const limitedDropped = counter(registry, 'rate_limiter_dropped_total')
  const inJob = counter(registry, 'tracked_in_job_total')
  const swallowed = counter(registry, 'tracking_failures_swallowed_total')
  return {
    batchWritten: ({ count }) => dispatched.add(clock.now(), count, 0),
    undelivered: () => dispatched.add(clock.now(), 0, 1),
    eventDropped: ({ name, reason }) => dropped(name, reason),
    eventLimited({ type, became }) {
      limited(type)
      if (became === 'saved') limitedSaved(type)
      else if (became === 'dropped') limitedDropped(type)
    },
    trackedInJob: ({ job }) => inJob(job),
    trackingFailureSwallowed: ({ job, errorName, event }) =>
      swallowed(errorNames.mask(errorName, { event }), job === undefined ? 'caller' : 'job'),
  }
}
