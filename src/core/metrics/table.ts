/** What is known of a family before anything is counted. */
type MetricSpec =
  | { readonly type: 'counter'; readonly labels: readonly string[]; readonly help: string }
  | {
      readonly type: 'gauge'
      readonly labels: readonly string[]
      readonly help: string
      /** What several readings of the same series are together. */
      readonly together: 'sum' | 'most'
    }
  | {
      readonly type: 'histogram'
      readonly labels: readonly string[]
      readonly help: string
      readonly bounds: readonly number[]
    }

const DURATIONS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30]
const DELAYS = [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3_600]
const ATTEMPTS = [0, 1, 2, 3, 4, 5, 7, 10, 15, 20, 50]

/**
 * Every family there is, without its prefix, in the order of a scrape. Names and labels are watched from outside, by rules
 * and dashboards: they are never renamed, only added. docs/reference/metrics.md says what each counts.
 */
export const METRICS = {
  events_processed_total: counter('Deliveries that a consumer has finished.', 'channel', 'outcome'),
  handler_duration_seconds: histogram('Duration of each handler run, in seconds.', DURATIONS, 'channel'),
  retry_attempts_total: counter('Retries that were scheduled.', 'name'),
  retry_successes_total: counter('Calls, events and deliveries that succeeded after a retry.', 'name'),
  retry_exhausted_total: counter(
    'Calls, events and deliveries given up after the last attempt or the time limit.',
    'name',
  ),
  retry_permanent_failures_total: counter(
    'Calls, events and deliveries given up because the failure is permanent.',
    'name',
    'error_class',
  ),
  retry_delay_seconds: histogram('Chosen wait before a retry, in seconds.', DELAYS, 'name'),
  retry_limiter_allowed_total: counter('Retries that the retry limit admitted.', 'name'),
  retry_limiter_limited_total: counter('Retries that the retry limit delayed or refused.', 'name', 'action'),
  consumer_lag: gauge(
    'Events that a handler has not finished, as its broker counts them.',
    'most',
    'channel',
    'name',
  ),
  retry_queue_size: gauge('Retries that wait in this process for their next attempt.', 'sum', 'name'),
  retry_dropped_total: counter('Events that were dropped and not stored anywhere.', 'name', 'reason'),
  retry_batches_total: counter('Batches of retries that were started.', 'name'),
  breaker_state: gauge('State of a breaker: 0 closed, 1 half-open, 2 open.', 'most', 'name'),
  breaker_opened_total: counter('Times that a breaker opened.', 'name'),
  breaker_closed_total: counter('Times that a breaker closed.', 'name'),
  breaker_rejected_total: counter('Attempts that a breaker refused.', 'name'),
  dlq_saved_total: counter(
    'Dead letters saved in a store, a broker or the spill.',
    'channel',
    'name',
    'reason',
    'error_class',
  ),
  dlq_replayed_total: counter('Events of dead letters that a replay has sent.', 'channel', 'name'),
  dlq_replay_failed_total: counter('Replayed events that failed again.', 'channel'),
  dlq_filtered_total: counter('Failed events that the filter did not keep.', 'channel'),
  dlq_write_errors_total: counter('Writes of dead letters that failed.', 'channel'),
  dlq_expired_total: counter('Dead letters that retention deleted.', 'state'),
  outbox_removed_total: counter(
    'Delivered and dead rows, and partitions, that the retention of an outbox removed.',
    'broker',
    'unit',
  ),
  dlq_size: gauge(
    'Dead letters that wait for a decision: dead, quarantined or parked.',
    'sum',
    'channel',
    'name',
  ),
  dlq_oldest_age_seconds: gauge(
    'Seconds since the last failure of the oldest waiting dead letter.',
    'most',
    'channel',
  ),
  attempts_before_dlq: histogram('Attempts made before an event became a dead letter.', ATTEMPTS, 'channel'),
  rate_limiter_limited_total: counter('New events that the rate limit refused.', 'type'),
  rate_limiter_dlq_saved_total: counter('Rate-limited events that became dead letters.', 'type'),
  rate_limiter_dropped_total: counter('Rate-limited events that the filter did not keep.', 'type'),
  tracking_failures_swallowed_total: counter(
    'Tracking failures that were not thrown to the caller.',
    'error_class',
    'context',
  ),
  tracked_in_job_total: counter('Events that were tracked inside a job.', 'job'),
  dlq_from_job_total: counter('Dead letters of events that were tracked inside a job.', 'job', 'reason'),
  health_checks_total: counter('Health checks of sinks whose breaker is open.', 'name', 'result'),
  dispatch_success_ratio: gauge(
    'Share of events that sinks delivered, of all that ended in the last 5 minutes.',
    'most',
  ),
  poison_quarantined_total: counter('Events quarantined as poison.', 'channel', 'category'),
  replay_outcomes_total: counter('Outcomes of replayed events.', 'outcome'),
  automatic_replay_outcomes_total: counter('Outcomes of events that automatic replay sent.', 'outcome'),
} as const satisfies Readonly<Record<string, MetricSpec>>

export type MetricName = keyof typeof METRICS

type NamesOf<T extends MetricSpec['type']> = {
  [N in MetricName]: (typeof METRICS)[N]['type'] extends T ? N : never
}[MetricName]
export type CounterName = NamesOf<'counter'>
export type GaugeName = NamesOf<'gauge'>
export type HistogramName = NamesOf<'histogram'>

function counter(help: string, ...labels: readonly string[]) {
  return { type: 'counter', help, labels } as const
}

function gauge(help: string, together: 'sum' | 'most', ...labels: readonly string[]) {
  return { type: 'gauge', help, together, labels } as const
}

function histogram(help: string, bounds: readonly number[], ...labels: readonly string[]) {
  return { type: 'histogram', help, bounds, labels } as const
}
