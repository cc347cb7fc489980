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
  events_processed_total: counter('Deliveries that a consumer is finished with.', 'channel', 'outcome'),
  handler_duration_seconds: histogram('How long runs of a handler take.', DURATIONS, 'channel'),
  retry_attempts_total: counter('Retries that were decided on.', 'name'),
  retry_successes_total: counter('What worked, and not at the first attempt.', 'name'),
  retry_exhausted_total: counter('What was given up on with all attempts or all time used up.', 'name'),
  retry_permanent_failures_total: counter(
    'What was given up on because trying again cannot help.',
    'name',
    'error_class',
  ),
  retry_delay_seconds: histogram('Waits that were chosen before a retry.', DELAYS, 'name'),
  retry_limiter_allowed_total: counter('Turns that the retry limit gave.', 'name'),
  retry_limiter_limited_total: counter('Retries that the retry limit held up or refused.', 'name', 'action'),
  retry_queue_size: gauge('Retries in hand between two attempts.', 'sum', 'name'),
  retry_dropped_total: counter('Events that were dropped and are kept nowhere.', 'name', 'reason'),
  retry_batches_total: counter('Batches of retries that were let go.', 'name'),
  breaker_state: gauge('0 closed, 1 half-open, 2 open.', 'most', 'name'),
  breaker_opened_total: counter('How often a breaker opened.', 'name'),
  breaker_closed_total: counter('How often a breaker closed.', 'name'),
  breaker_rejected_total: counter('Attempts that a breaker refused.', 'name'),
  dlq_saved_total: counter(
    'Dead letters that are safe in a store, a broker or the spill.',
    'channel',
    'reason',
  ),
  dlq_replayed_total: counter('Events of dead letters that a replay has sent.', 'channel'),
  dlq_replay_failed_total: counter('Replayed events that failed again.', 'channel'),
  dlq_filtered_total: counter('Given-up events that the filter did not keep.', 'channel'),
  dlq_write_errors_total: counter('Writes of dead letters that failed.', 'channel'),
  dlq_expired_total: counter('Dead letters that retention deleted.', 'state'),
  dlq_size: gauge('Dead letters that wait for someone.', 'sum', 'channel'),
  dlq_oldest_age_seconds: gauge(
    'Since when the oldest dead letter that waits for someone has not failed again.',
    'most',
    'channel',
  ),
  attempts_before_dlq: histogram('Attempts made before an event became a dead letter.', ATTEMPTS, 'channel'),
  rate_limiter_limited_total: counter('New events that the rate limit refused.', 'type'),
  rate_limiter_dlq_saved_total: counter('Of those, the ones that became dead letters.', 'type'),
  rate_limiter_dropped_total: counter('Of those, the ones that the filter did not keep.', 'type'),
  tracking_failures_swallowed_total: counter(
    'Failures to track that the caller did not hear of.',
    'error_class',
    'context',
  ),
  tracked_in_job_total: counter('Events that were tracked inside a job.', 'job'),
  dlq_from_job_total: counter('Dead letters of events that were tracked inside a job.', 'job', 'reason'),
  health_checks_total: counter('Checks of sick sinks.', 'name', 'result'),
  dispatch_success_ratio: gauge(
    'Of what sinks ended with in the last 5 minutes, the share delivered.',
    'most',
  ),
  poison_quarantined_total: counter('Events quarantined as poison.', 'channel', 'category'),
  replay_outcomes_total: counter('What became of replayed events.', 'outcome'),
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
