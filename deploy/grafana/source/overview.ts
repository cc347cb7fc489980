import { type Dashboard, JOB } from './dashboard.ts'
import { breakers, lines, number } from './panel.ts'
import { largest, quantiles, rate, worst } from './queries.ts'

const HERE = 'job=~"$job"'

export const overview: Dashboard = {
  name: 'overview',
  title: 'Lazaret: overview',
  description: 'Whether a person has to act, and where to look.',
  variables: [JOB],
  rows: [
    [
      number(
        'Alerts firing',
        'Alerts of lazaret.rules.yaml that fire at the moment. Each names its runbook in runbook_url.',
        'none',
        `count(ALERTS{alertname=~"Lazaret.*", alertstate="firing", ${HERE}}) or vector(0)`,
        { badFrom: 1 },
      ),
      number(
        'Open breakers',
        'Handlers and sinks that are cut off from what they depend on.',
        'none',
        `count(${largest('lazaret_breaker_state', HERE)} == 2) or vector(0)`,
        { badFrom: 1 },
      ),
      number(
        'Dead letters waiting',
        'Of all channels. More than 10 000 raise LazaretDeadLettersTooMany.',
        'short',
        `sum(${largest('lazaret_dlq_size', HERE)}) or vector(0)`,
        { badFrom: 10_000 },
      ),
      number(
        'Oldest dead letter',
        'How long the oldest one has waited. More than 30 minutes raise LazaretDeadLettersTooOld.',
        's',
        `max(lazaret_dlq_oldest_age_seconds{${HERE}}) or vector(0)`,
        { badFrom: 1_800 },
      ),
      number(
        'Events that reach their sinks',
        'Of the process that does worst. Under 95 % raises LazaretDispatchSuccessLow.',
        'percentunit',
        `min(lazaret_dispatch_success_ratio{${HERE}})`,
        { badBelow: 0.95 },
      ),
      number(
        'Dead letters within an hour',
        'Events that were given up on in the last hour, in all channels.',
        'short',
        `sum(lazaret:dlq_saved:increase1h{${HERE}}) or vector(0)`,
        { badFrom: 100 },
      ),
    ],
    [
      lines(
        'Events by outcome',
        'Done, skipped because it was done before, retried, dead, released. Dead ones should be few.',
        'reqps',
        rate('lazaret_events_processed_total', HERE, 'outcome', '{{outcome}}'),
      ),
      lines(
        'Dead letters by channel',
        'Events given up on, each second. A line that rises at a deploy is that deploy.',
        'cps',
        rate('lazaret_dlq_saved_total', HERE, 'channel', '{{channel}}'),
      ),
    ],
    [
      breakers(
        'Breakers',
        'Closed lets everything through, open nothing, half-open a probe.',
        worst('lazaret_breaker_state', HERE, 'name', '{{name}}'),
      ),
      lines(
        'Retries',
        'Retries each second, by handler or sink. Over 100 raises LazaretRetryRateHigh.',
        'cps',
        rate('lazaret_retry_attempts_total', HERE, 'name', '{{name}}'),
      ),
    ],
    [
      lines(
        'Time in handlers',
        'How long a run of a handler takes, all channels together.',
        's',
        ...quantiles('lazaret_handler_duration_seconds', HERE, 'job', '{{job}}'),
      ),
      lines(
        'Replay outcomes',
        'What became of letters that were sent again. The server that runs a replay and the handler of its events both tell: a line for each job, not to be added up.',
        'cps',
        rate('lazaret_replay_outcomes_total', HERE, 'job, outcome', '{{job}}: {{outcome}}'),
      ),
    ],
  ],
}
