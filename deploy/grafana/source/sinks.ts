import { type Dashboard, JOB } from './dashboard.ts'
import { breakers, lines, number } from './panel.ts'
import { largest, rate, within, worst } from './queries.ts'

const HERE = 'job=~"$job"'
const NAME = 'job=~"$job", name=~"$name"'

export const sinks: Dashboard = {
  name: 'sinks',
  title: 'Lazaret: sinks and breakers',
  description:
    'Tracked events and their sinks, failing dependencies, and events that the entry limit refuses.',
  variables: [JOB, { name: 'name', label: 'sink or handler', from: 'lazaret_breaker_state' }],
  rows: [
    [
      number(
        'Events that reach their sinks',
        'Of the process that does worst. Under 95 % raises LazaretDispatchSuccessLow.',
        'percentunit',
        `min(lazaret_dispatch_success_ratio{${HERE}})`,
        { badBelow: 0.95 },
      ),
      number(
        'Open breakers',
        'Sinks and handlers that are cut off at the moment.',
        'none',
        `count(${largest('lazaret_breaker_state', NAME)} == 2) or vector(0)`,
        { badFrom: 1 },
      ),
    ],
    [
      breakers(
        'Breakers',
        'Closed lets everything through, open nothing, half-open a probe.',
        worst('lazaret_breaker_state', NAME, 'name', '{{name}}'),
      ),
      lines(
        'Openings and closings',
        'A breaker that opens as often as it closes has a dependency that cannot carry the traffic.',
        'cps',
        rate('lazaret_breaker_opened_total', NAME, 'name', '{{name}} opened'),
        rate('lazaret_breaker_closed_total', NAME, 'name', '{{name}} closed'),
      ),
    ],
    [
      lines(
        'Attempts refused by breakers',
        'Attempts that were not made because the breaker was open.',
        'cps',
        rate('lazaret_breaker_rejected_total', NAME, 'name', '{{name}}'),
      ),
      lines(
        'Health checks',
        'Probes of sinks whose breaker is not closed, by result.',
        'cps',
        rate('lazaret_health_checks_total', NAME, 'name, result', '{{name}} {{result}}'),
      ),
    ],
    [
      lines(
        'Events that reach their sinks, over time',
        'By process: one that falls behind has a network or a configuration of its own.',
        'percentunit',
        worst('lazaret_dispatch_success_ratio', HERE, 'job, instance', '{{job}} {{instance}}'),
      ),
      lines(
        'Refused by the entry limit',
        'Events over the rate limit, by type: all, those that were kept as dead letters, those that were dropped.',
        'cps',
        rate('lazaret_rate_limiter_limited_total', HERE, 'type', '{{type}} limited'),
        rate('lazaret_rate_limiter_dlq_saved_total', HERE, 'type', '{{type}} kept'),
        rate('lazaret_rate_limiter_dropped_total', HERE, 'type', '{{type}} dropped'),
      ),
    ],
    [
      lines(
        'Tracked in background jobs',
        'Events tracked inside jobs, by job.',
        'cps',
        rate('lazaret_tracked_in_job_total', HERE, 'exported_job', '{{exported_job}}'),
      ),
      lines(
        'Failures to track that were swallowed',
        'Within 15 minutes. The work went on; the events are dead letters. Over 10 in jobs raise LazaretJobTrackingFails.',
        'short',
        within(
          'lazaret:tracking_failures_swallowed:increase15m',
          HERE,
          'error_class, context',
          '{{context}} {{error_class}}',
        ),
      ),
    ],
    [
      lines(
        'Dead letters from background jobs',
        'Within 15 minutes, by job and by what ended them. breaker_open raises LazaretBreakerBlocksJobEvents.',
        'short',
        within(
          'lazaret:dlq_from_job:increase15m',
          HERE,
          'exported_job, reason',
          '{{exported_job}} {{reason}}',
        ),
      ),
      lines(
        'Refused events saved as letters',
        'Events within 15 minutes that the rate limit refused and the filter keeps: dead letters. One raises LazaretCriticalEventsRateLimited.',
        'short',
        within('lazaret:rate_limiter_dlq_saved:increase15m', HERE, 'type', '{{type}}'),
      ),
    ],
  ],
}
