import { type Dashboard, JOB } from './dashboard.ts'
import { lines } from './panel.ts'
import { average, gauge, rate } from './queries.ts'

const HERE = 'job=~"$job"'
const CHANNEL = 'job=~"$job", channel=~"$channel"'

export const deadLetters: Dashboard = {
  name: 'dead-letters',
  title: 'Lazaret: dead letters and replays',
  description: 'What was given up on and why, how long it waits, and what replaying brings.',
  variables: [JOB, { name: 'channel', label: 'channel', from: 'lazaret_dlq_size' }],
  rows: [
    [
      lines(
        'Waiting',
        'Dead letters that nobody has dealt with.',
        'short',
        gauge('lazaret_dlq_size', CHANNEL, 'channel', '{{channel}}'),
      ),
      lines(
        'Oldest',
        'How long the oldest one has waited. Over 30 minutes raises LazaretDeadLettersTooOld.',
        's',
        gauge('lazaret_dlq_oldest_age_seconds', CHANNEL, 'channel', '{{channel}}'),
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
        { expr: `sum by (channel) (lazaret:dlq_saved:increase1h{${CHANNEL}})`, legend: '{{channel}}' },
      ),
    ],
    [
      lines(
        'Letters that could not be written',
        'The store was down; the events are in the spill or come again. Anything above zero is a page.',
        'cps',
        rate('lazaret_dlq_write_errors_total', CHANNEL, 'channel', '{{channel}}'),
      ),
      lines(
        'Filtered out',
        'Events that the filter says not to keep, and that are gone.',
        'cps',
        rate('lazaret_dlq_filtered_total', CHANNEL, 'channel', '{{channel}}'),
      ),
    ],
    [
      lines(
        'Quarantined',
        'Poison, by category.',
        'cps',
        rate('lazaret_poison_quarantined_total', CHANNEL, 'channel, category', '{{channel}} {{category}}'),
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
        'Letters sent again, and those that came back.',
        'cps',
        rate('lazaret_dlq_replayed_total', CHANNEL, 'channel', '{{channel}} replayed'),
        rate('lazaret_dlq_replay_failed_total', CHANNEL, 'channel', '{{channel}} failed again'),
      ),
      lines(
        'Replay outcomes',
        'Recovered means that the handler has succeeded, not that it was sent.',
        'cps',
        rate('lazaret_replay_outcomes_total', HERE, 'outcome', '{{outcome}}'),
      ),
    ],
  ],
}
