import { type Dashboard, JOB } from './dashboard.ts'
import { breakers, lines } from './panel.ts'
import { average, inHand, quantiles, rate, within, worst } from './queries.ts'

const CHANNEL = 'job=~"$job", channel=~"$channel"'
const NAME = 'job=~"$job", name=~"$name"'

export const consumer: Dashboard = {
  name: 'consumer',
  title: 'Lazaret: consumer',
  description: 'How the handlers of a channel do, and what retrying costs.',
  variables: [
    JOB,
    { name: 'channel', label: 'channel', from: 'lazaret_events_processed_total' },
    { name: 'name', label: 'handler', from: 'lazaret_breaker_state' },
  ],
  rows: [
    [
      lines(
        'Events by outcome',
        'What a delivery ended with, each second.',
        'reqps',
        rate('lazaret_events_processed_total', CHANNEL, 'channel, outcome', '{{channel}} {{outcome}}'),
      ),
      lines(
        'Share that dies',
        'Dead ones among all that were processed. A share that stays up has one cause: look at Groups in the console.',
        'percentunit',
        {
          expr: `sum by (channel) (rate(lazaret_events_processed_total{${CHANNEL}, outcome="dead"}[$__rate_interval])) / sum by (channel) (rate(lazaret_events_processed_total{${CHANNEL}}[$__rate_interval]))`,
          legend: '{{channel}}',
        },
      ),
    ],
    [
      lines(
        'Time in the handler',
        'How long a run takes. What rises towards the timeout is a dependency on its way down.',
        's',
        ...quantiles('lazaret_handler_duration_seconds', CHANNEL, 'channel', '{{channel}}'),
      ),
      breakers(
        'Breakers',
        'While a breaker is open, its consumer pauses and what comes waits in the channel.',
        worst('lazaret_breaker_state', NAME, 'name', '{{name}}'),
      ),
    ],
    [
      lines(
        'Retries and what came of them',
        'Retries made, events that a retry saved, events whose attempts were used up.',
        'cps',
        rate('lazaret_retry_attempts_total', NAME, 'name', '{{name}} retries'),
        rate('lazaret_retry_successes_total', NAME, 'name', '{{name}} helped'),
        rate('lazaret_retry_exhausted_total', NAME, 'name', '{{name}} used up'),
      ),
      lines(
        'Permanent failures',
        'Permanent failures, by the class of their error.',
        'cps',
        rate('lazaret_retry_permanent_failures_total', NAME, 'name, error_class', '{{name}} {{error_class}}'),
      ),
    ],
    [
      lines(
        'Wait before a retry',
        'The delays that were chosen.',
        's',
        ...quantiles('lazaret_retry_delay_seconds', NAME, 'name', '{{name}}'),
      ),
      lines(
        'Retries that wait',
        'Retries that wait for their turn at the retry limit.',
        'short',
        inHand('lazaret_retry_queue_size', NAME, 'name', '{{name}}'),
      ),
      lines(
        'Lag',
        'Events that a handler has not finished. A lag that grows needs more consumers, or a faster handler.',
        'short',
        worst('lazaret_consumer_lag', CHANNEL, 'channel, name', '{{channel}} {{name}}'),
      ),
    ],
    [
      lines(
        'Retry limit',
        'Retries that had their turn, and those that the limit held back, by what it did with them.',
        'cps',
        rate('lazaret_retry_limiter_allowed_total', NAME, 'name', '{{name}} allowed'),
        rate('lazaret_retry_limiter_limited_total', NAME, 'name, action', '{{name}} {{action}}'),
        rate('lazaret_retry_batches_total', NAME, 'name', '{{name}} batches'),
      ),
      lines(
        'Retries dropped',
        'Events that are gone because the policy says so, by reason. Anything above zero should be meant.',
        'cps',
        rate('lazaret_retry_dropped_total', NAME, 'name, reason', '{{name}} {{reason}}'),
      ),
    ],
    [
      lines(
        'Attempts before an event dies',
        'On average. One means permanent failures, the full number a dependency that stays away.',
        'none',
        average('lazaret_attempts_before_dlq', CHANNEL, 'channel', '{{channel}}'),
      ),
      lines(
        'Poison',
        'Events put into quarantine within 15 minutes. One of them is worth a look, and raises LazaretPoisonQuarantined.',
        'short',
        within(
          'lazaret:poison_quarantined:increase15m',
          CHANNEL,
          'channel, category',
          '{{channel}} {{category}}',
        ),
      ),
    ],
  ],
}
