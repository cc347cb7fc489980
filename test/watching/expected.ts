import type { DeadLetter } from '../../src/core/dead-letter/letter.ts'
import type { Observations } from '../../src/ports/observer.ts'
import type { ConsumerHealth } from '../../src/runtime/consumer/health.ts'
import type { DispatcherHealth } from '../../src/runtime/dispatcher/dispatcher-health.ts'
import type { EventLog } from './event-log.ts'

type Labels = Readonly<Record<string, string>>
export type Value = readonly [Labels, number]
export type Values = readonly [Labels, readonly number[]]

/** What there is beside the log: where things stand. */
export interface Standing {
  readonly now: number
  readonly consumers: readonly ConsumerHealth[]
  /** In the order of the consumers; undefined if the broker cannot count. */
  readonly lags: readonly (number | undefined)[]
  readonly dispatcher: DispatcherHealth
  readonly letters: readonly DeadLetter[]
}

export const WATCHED = [
  ...['eventProcessed', 'handlerEnded', 'retryScheduled', 'retrySucceeded', 'gaveUp', 'retryAllowed'],
  ...['retryLimited', 'eventDropped', 'retryBatchReleased', 'breakerChanged', 'breakerRejected'],
  ...['letterSaved', 'letterSpilled', 'replaySent', 'replayOutcome', 'letterFiltered', 'letterWriteFailed'],
  ...['lettersExpired', 'deliveredRemoved', 'replayItemEnded'],
  ...['eventLimited', 'trackingFailureSwallowed', 'trackedInJob', 'healthChecked', 'batchWritten'],
  ...['undelivered', 'poisonQuarantined'],
] as (keyof Observations)[]

/** How often each of these labels came. */
function tally(labels: readonly Labels[]): readonly Value[] {
  const counts = new Map<string, number>()
  for (const each of labels) {
    const key = JSON.stringify(each)
    counts.set(key, (counts.get(key) ?? 0) + 1)
  }
  return Array.from(counts, ([key, count]) => [JSON.parse(key) as Labels, count])
}

/** All values of each of these labels. */
function gather(observed: readonly (readonly [Labels, number])[]): readonly Values[] {
  const values = new Map<string, number[]>()
  for (const [labels, value] of observed) {
    const key = JSON.stringify(labels)
    values.set(key, [...(values.get(key) ?? []), value])
  }
  return Array.from(values, ([key, all]) => [JSON.parse(key) as Labels, all])
}

/** A letter counts once, although those of a job are told again once it is known that no sink is left. */
function kept(log: EventLog) {
  return [...log.all('letterSaved'), ...log.all('letterSpilled')].filter(({ again }) => !again)
}

export const COUNTERS: Readonly<Record<string, (log: EventLog) => readonly Value[]>> = {
  events_processed_total: log =>
    tally(log.all('eventProcessed').map(({ channel, outcome }) => ({ channel, outcome }))),
  retry_attempts_total: log => tally(log.all('retryScheduled').map(({ name }) => ({ name }))),
  retry_successes_total: log => tally(log.all('retrySucceeded').map(({ name }) => ({ name }))),
  retry_exhausted_total: log =>
    tally(
      log
        .all('gaveUp')
        .filter(({ reason }) => ['attempts_exhausted', 'elapsed'].includes(reason))
        .map(({ name }) => ({ name })),
    ),
  retry_permanent_failures_total: log =>
    tally(
      log
        .all('gaveUp')
        .filter(({ reason }) => reason === 'permanent')
        .map(({ name, failure }) => ({ name, error_class: failure.name })),
    ),
  retry_limiter_allowed_total: log => tally(log.all('retryAllowed').map(({ name }) => ({ name }))),
  retry_limiter_limited_total: log =>
    tally(log.all('retryLimited').map(({ name, action }) => ({ name, action }))),
  retry_dropped_total: log => tally(log.all('eventDropped').map(({ name, reason }) => ({ name, reason }))),
  retry_batches_total: log => tally(log.all('retryBatchReleased').map(({ name }) => ({ name }))),
  breaker_opened_total: log =>
    tally(
      log
        .all('breakerChanged')
        .filter(({ to }) => to === 'open')
        .map(({ name }) => ({ name })),
    ),
  breaker_closed_total: log =>
    tally(
      log
        .all('breakerChanged')
        .filter(({ to }) => to === 'closed')
        .map(({ name }) => ({ name })),
    ),
  breaker_rejected_total: log => tally(log.all('breakerRejected').map(({ name }) => ({ name }))),
  dlq_saved_total: log =>
    tally(
      kept(log).map(({ channel, letter: { handler, cycle } }) => ({
        channel,
        name: handler,
        reason: cycle.reason,
        error_class: cycle.failure?.name ?? '(none)',
      })),
    ),
  dlq_replayed_total: log => tally(log.all('replaySent').map(({ channel, name }) => ({ channel, name }))),
  dlq_replay_failed_total: log =>
    tally(
      log
        .all('replayOutcome')
        .filter(({ outcome }) => outcome === 'failed_again')
        .map(({ channel }) => ({ channel })),
    ),
  dlq_filtered_total: log => tally(log.all('letterFiltered').map(({ channel }) => ({ channel }))),
  dlq_expired_total: log =>
    tally(
      log
        .all('lettersExpired')
        .flatMap(({ byState }) =>
          Object.entries(byState).flatMap(([state, count]) =>
            Array.from({ length: count }, () => ({ state })),
          ),
        ),
    ),
  outbox_removed_total: log =>
    tally(log.all('deliveredRemoved').map(({ broker }) => ({ broker, unit: 'partition' }))),
  dlq_write_errors_total: log => tally(log.all('letterWriteFailed').map(({ channel }) => ({ channel }))),
  rate_limiter_limited_total: log => tally(log.all('eventLimited').map(({ type }) => ({ type }))),
  rate_limiter_dlq_saved_total: log => tally(limited(log, 'saved')),
  rate_limiter_dropped_total: log => tally(limited(log, 'dropped')),
  tracking_failures_swallowed_total: log =>
    tally(
      log.all('trackingFailureSwallowed').map(({ errorName, job }) => ({
        error_class: errorName,
        context: job === undefined ? 'caller' : 'job',
      })),
    ),
  tracked_in_job_total: log => tally(log.all('trackedInJob').map(({ job }) => ({ job }))),
  dlq_from_job_total: log =>
    tally(
      kept(log).flatMap(({ letter: { job, detail } }) =>
        job === undefined ? [] : [{ job, reason: String(detail?.['endedBy']) }],
      ),
    ),
  health_checks_total: log =>
    tally(
      log
        .all('healthChecked')
        .map(({ name, healthy }) => ({ name, result: healthy ? 'healthy' : 'unhealthy' })),
    ),
  poison_quarantined_total: log =>
    tally(
      log
        .all('poisonQuarantined')
        .map(({ channel, letter }) => ({ channel, category: letter.cycle.category })),
    ),
  replay_outcomes_total: log => tally(log.all('replayOutcome').map(({ outcome }) => ({ outcome }))),
  automatic_replay_outcomes_total: log =>
    tally(
      log
        .all('replayItemEnded')
        .filter(({ isAutomatic }) => isAutomatic)
        .map(({ status }) => ({
          outcome: status === 'recovered' || status === 'skipped' ? status : 'failed_again',
        })),
    ),
}

function limited(log: EventLog, as: 'saved' | 'dropped'): readonly Labels[] {
  return log
    .all('eventLimited')
    .filter(({ became }) => became === as)
    .map(({ type }) => ({ type }))
}

export const HISTOGRAMS: Readonly<Record<string, (log: EventLog) => readonly Values[]>> = {
  handler_duration_seconds: log =>
    gather(log.all('handlerEnded').map(({ channel, durationMs }) => [{ channel }, durationMs / 1_000])),
  retry_delay_seconds: log =>
    gather(log.all('retryScheduled').map(({ name, delayMs }) => [{ name }, delayMs / 1_000])),
  attempts_before_dlq: log =>
    gather(kept(log).map(({ channel, letter }) => [{ channel }, letter.cycle.attemptCount])),
}

const BREAKER_STATES: Readonly<Record<string, number>> = { closed: 0, 'half-open': 1, open: 2 }
const WAITING: readonly string[] = ['dead', 'quarantined', 'parked']

export const GAUGES: Readonly<Record<string, (standing: Standing, log: EventLog) => readonly Value[]>> = {
  consumer_lag: ({ consumers, lags }) =>
    consumers.flatMap(({ channel, handler }, index): Value[] =>
      lags[index] === undefined ? [] : [[{ channel, name: handler }, lags[index]]],
    ),
  retry_queue_size: ({ consumers, dispatcher }) => [
    ...consumers.map(({ handler, retrying }): Value => [{ name: handler }, retrying]),
    ...Object.entries(dispatcher.sinks).map(([name, { retrying }]): Value => [{ name }, retrying]),
  ],
  breaker_state: ({ consumers, dispatcher }) =>
    [
      ...consumers.map(({ handler, breakerState }) => [handler, breakerState] as const),
      ...Object.entries(dispatcher.sinks).map(([name, { breakerState }]) => [name, breakerState] as const),
    ].map(([name, state]) => [{ name }, BREAKER_STATES[state]!]),
  dlq_size: ({ letters, consumers }) => {
    const waiting = tally(
      letters
        .filter(({ state }) => WAITING.includes(state))
        .map(({ channel, handler }) => ({ channel, name: handler })),
    )
    const without = consumers.filter(
      ({ channel, handler }) =>
        !waiting.some(([labels]) => labels['channel'] === channel && labels['name'] === handler),
    )
    return [...waiting, ...without.map(({ channel, handler }): Value => [{ channel, name: handler }, 0])]
  },
  dlq_oldest_age_seconds: ({ letters, now }) =>
    gather(
      letters
        .filter(({ state }) => WAITING.includes(state))
        .map(({ channel, cycle }) => [{ channel }, (now - cycle.lastFailedAt) / 1_000]),
    ).map(([labels, ages]) => [labels, Math.max(...ages)]),
  dispatch_success_ratio: (_, log) => {
    const delivered = log.all('batchWritten').reduce((sum, { count }) => sum + count, 0)
    const all = delivered + log.all('undelivered').length
    return all === 0 ? [] : [[{}, delivered / all]]
  },
}
