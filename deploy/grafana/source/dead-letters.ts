import { type Dashboard, JOB } from './dashboard.ts'
import { lines } from './panel.ts'
import { average, rate, stored, within, worst } from './queries.ts'

const HERE = 'job=~"$job"'
const CHANNEL = 'job=~"$job", channel=~"$channel"'

export const deadLetters: Dashboard = {
  name: 'dead-letters',
  title: 'Lazaret: dead letters and replays',
  description: 'Dead letters by reason, their age, and the outcomes of replays.',
  variables: [JOB, { name: 'channel', label: 'channel', from: 'lazaret_dlq_size' }],
  rows: [
    [
      lines(
        'Waiting',
        'Letters that wait for a decision: dead, quarantined or parked, by channel and handler or sink.',
        'short',
        stored('lazaret_dlq_size', CHANNEL, 'channel, name', '{{channel}} {{name}}'),
      ),
      lines(
        'Oldest',
        'How long the oldest one has waited. Over 30 minutes raises LazaretDeadLettersTooOld.',
        's',
        worst('lazaret_dlq_oldest_age_seconds', CHANNEL, 'channel', '{{channel}}'),
      ),
    ],
    [
      lines(
        'Given up on, by reason',
        'Letters saved each second. permanent and schema are the code or the sender, breaker_open and attempts_exhausted a dependency.',
        'cps',
        rate('lazaret_dlq_saved_total', CHANNEL, 'channel, reason', '{{channel}} {{reason}}'),
      ),
      lines(
        'Within an hour',
        'What LazaretDeadLetterRateHigh looks at: over 100 in one channel raise it.',
        'short',
        within('lazaret:dlq_saved:increase1h', CHANNEL, 'channel', '{{channel}}'),
      ),
      lines(
        'Within an hour, by error',
        'The handlers and sinks that gave up, and the class of their last error.',
        'short',
        within(
          'lazaret:dlq_saved:increase1h',
          CHANNEL,
          'channel, name, error_class',
          '{{channel}} {{name}} {{error_class}}',
        ),
      ),
    ],
    [
      lines(
        'Letters that could not be written',
        'Within 15 minutes. The store was down; the events are in the spill or come again. Anything above zero is a page.',
        'short',
        within('lazaret:dlq_write_errors:increase15m', CHANNEL, 'channel', '{{channel}}'),
      ),
      lines(
        'Filtered out',
        'Events that the filter says not to keep, and that are gone.',
        'cps',
        rate('lazaret_dlq_filtered_total', CHANNEL, 'channel', '{{channel}}'),
      ),
      lines(
        'Deleted by retention',
        'Letters past their time, by the state they were in. Only resolved and discarded ones, unless you asked for more.',
        'cps',
        rate('lazaret_dlq_expired_total', HERE, 'state', '{{state}}'),
      ),
      lines(
        'Removed from the outbox by retention',
        'Delivered rows one by one, or partitions of a whole day.',
        'cps',
        rate('lazaret_outbox_removed_total', HERE, 'broker, unit', '{{broker}} {{unit}}'),
      ),
    ],
    [
      lines(
        'Quarantined',
        'Poison within 15 minutes, by category.',
        'short',
        within(
          'lazaret:poison_quarantined:increase15m',
          CHANNEL,
          'channel, category',
          '{{channel}} {{category}}',
        ),
      ),
      lines(
        'Attempts before an event dies',
        'On average.',
        'none',
        average('lazaret_attempts_before_dlq', CHANNEL, 'channel', '{{channel}}'),
      ),
    ],
    [
      lines(
        'Replayed',
        'Letters sent again, and those that came back. The server that runs a replay and the handler of its events both tell how it went: a line for each job, not to be added up.',
        'cps',
        rate(
          'lazaret_dlq_replayed_total',
          CHANNEL,
          'job, channel, name',
          '{{job}}: {{channel}} {{name}} replayed',
        ),
        rate('lazaret_dlq_replay_failed_total', CHANNEL, 'job, channel', '{{job}}: {{channel}} failed again'),
      ),
      lines(
        'Replay outcomes',
        'Recovered means that the handler has succeeded, not that it was sent. By job, as beside.',
        'cps',
        rate('lazaret_replay_outcomes_total', HERE, 'job, outcome', '{{job}}: {{outcome}}'),
        rate(
          'lazaret_automatic_replay_outcomes_total',
          HERE,
          'job, outcome',
          '{{job}}: {{outcome}} by automatic replay',
        ),
      ),
    ],
  ],
}
