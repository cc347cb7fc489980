import type { NumberCell } from '../../core/metrics/cells.ts'
import type { Series } from '../../core/metrics/series.ts'
import type { SlidingRatio } from '../../core/metrics/sliding-ratio.ts'
import type { Clock } from '../../ports/clock.ts'
import type { LetterKept, Observer } from '../../ports/observer.ts'
import type { Book } from './book.ts'
import { breakerGauge } from './breaker-gauge.ts'

const SECOND_MS = 1_000

/** What is counted into beside the book. */
interface Tallies {
  readonly book: Book
  /** By name, the mode that was last heard of. */
  readonly breakers: Series<NumberCell>
  readonly dispatched: SlidingRatio
  readonly clock: Clock
}

/** The observer that counts. Every line of docs/reference/metrics.md is one here. */
export function countingObserver(tallies: Tallies): Observer {
  return { ...consuming(tallies), ...retrying(tallies), ...breaking(tallies), ...dispatching(tallies) }
}

function consuming({ book }: Tallies): Observer {
  const processed = book.counter('events_processed_total')
  const duration = book.histogram('handler_duration_seconds')
  const quarantined = book.counter('poison_quarantined_total')
  const letters = countingLetters(book)
  return {
    eventProcessed({ channel, outcome }) {
      processed.at(channel, outcome).value++
    },
    handlerEnded({ channel, durationMs }) {
      duration.at(channel).add(durationMs / SECOND_MS)
    },
    poisonQuarantined({ channel, letter }) {
      quarantined.at(channel, letter.cycle.category).value++
    },
    letterSaved: letters,
    letterSpilled: letters,
    ...counted(book),
  }
}

/** Once for each letter: not when it is told again, and not when the spill moves it on. */
function countingLetters(book: Book): (kept: LetterKept) => void {
  const saved = book.counter('dlq_saved_total')
  const attempts = book.histogram('attempts_before_dlq')
  const fromJob = book.counter('dlq_from_job_total')
  return ({ channel, letter: { cycle, job, detail }, again }) => {
    if (again) return
    saved.at(channel, cycle.reason).value++
    attempts.at(channel).add(cycle.attemptCount)
    // What ended it, such as an open breaker: the last of a job's letters, or its only one, says that all was in vain.
    if (job !== undefined) fromJob.at(job, String(detail?.['endedBy'] ?? cycle.reason)).value++
  }
}

/** What else becomes of letters. */
function counted(book: Book): Observer {
  const filtered = book.counter('dlq_filtered_total')
  const writeErrors = book.counter('dlq_write_errors_total')
  const replayed = book.counter('dlq_replayed_total')
  const replayFailed = book.counter('dlq_replay_failed_total')
  const expired = book.counter('dlq_expired_total')
  const outcomes = book.counter('replay_outcomes_total')
  return {
    letterFiltered({ channel }) {
      filtered.at(channel).value++
    },
    letterWriteFailed({ channel }) {
      writeErrors.at(channel).value++
    },
    lettersExpired({ byState }) {
      for (const [state, count] of Object.entries(byState)) expired.at(state).value += count
    },
    replaySent({ channel }) {
      replayed.at(channel).value++
    },
    replayOutcome({ channel, outcome }) {
      outcomes.at(outcome).value++
      if (outcome === 'failed_again') replayFailed.at(channel).value++
    },
  }
}

function retrying({ book }: Tallies): Observer {
  const attempts = book.counter('retry_attempts_total')
  const delay = book.histogram('retry_delay_seconds')
  const successes = book.counter('retry_successes_total')
  const exhausted = book.counter('retry_exhausted_total')
  const permanent = book.counter('retry_permanent_failures_total')
  const allowed = book.counter('retry_limiter_allowed_total')
  const limited = book.counter('retry_limiter_limited_total')
  const batches = book.counter('retry_batches_total')
  return {
    retryScheduled({ name, delayMs }) {
      attempts.at(name).value++
      delay.at(name).add(delayMs / SECOND_MS)
    },
    retrySucceeded({ name }) {
      successes.at(name).value++
    },
    gaveUp({ name, reason, failure }) {
      if (reason === 'permanent') permanent.at(name, failure.name).value++
      else if (reason === 'attempts_exhausted' || reason === 'elapsed') exhausted.at(name).value++
    },
    retryAllowed({ name }) {
      allowed.at(name).value++
    },
    retryLimited({ name, action }) {
      limited.at(name, action).value++
    },
    retryBatchReleased({ name }) {
      batches.at(name).value++
    },
  }
}

function breaking({ book, breakers }: Tallies): Observer {
  const opened = book.counter('breaker_opened_total')
  const closed = book.counter('breaker_closed_total')
  const rejected = book.counter('breaker_rejected_total')
  const checks = book.counter('health_checks_total')
  return {
    breakerChanged({ name, to }) {
      breakers.at(name).value = breakerGauge(to)
      if (to === 'open' || to === 'forced-open') opened.at(name).value++
      else if (to === 'closed' || to === 'forced-closed') closed.at(name).value++
    },
    breakerRejected({ name }) {
      rejected.at(name).value++
    },
    healthChecked({ name, healthy }) {
      checks.at(name, healthy ? 'healthy' : 'unhealthy').value++
    },
  }
}

function dispatching({ book, dispatched, clock }: Tallies): Observer {
  const dropped = book.counter('retry_dropped_total')
  const limited = book.counter('rate_limiter_limited_total')
  const limitedSaved = book.counter('rate_limiter_dlq_saved_total')
  const limitedDropped = book.counter('rate_limiter_dropped_total')
  const inJob = book.counter('tracked_in_job_total')
  const swallowed = book.counter('tracking_failures_swallowed_total')
  return {
    batchWritten({ count }) {
      dispatched.add(clock.now(), count, 0)
    },
    undelivered() {
      dispatched.add(clock.now(), 0, 1)
    },
    eventDropped({ name, reason }) {
      dropped.at(name, reason).value++
    },
    eventLimited({ type, became }) {
      limited.at(type).value++
      if (became === 'saved') limitedSaved.at(type).value++
      else if (became === 'dropped') limitedDropped.at(type).value++
    },
    trackedInJob({ job }) {
      inJob.at(job).value++
    },
    trackingFailureSwallowed({ job, errorName }) {
      swallowed.at(errorName, job === undefined ? 'caller' : 'job').value++
    },
  }
}
