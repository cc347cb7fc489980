import type { BreakerMode } from '../../core/breaker/state.ts'
import type { LogLevel } from '../../ports/logger.ts'
import type { PauseReason } from '../../ports/observer.ts'
import type { AggregatedLine, LogLine } from './aggregator.ts'

// The names and fields of lines are a contract with people who search logs: they are only ever added to. Levels: error,
// when an event is in danger or a person has to act; warn, when something fails and Lazaret handles it; info, when it
// has recovered or a person did it; debug, for steps in between.

const lineAt =
  (level: LogLevel) =>
  (what: string, message: string): LogLine => ({ what, level, message })

const debug = lineAt('debug')
const info = lineAt('info')
const warn = lineAt('warn')
const error = lineAt('error')

export const BREAKER_LINES: Readonly<Record<BreakerMode, LogLine>> = {
  open: warn('breaker_opened', 'breaker opened'),
  'half-open': debug('breaker_half_open', 'breaker half-open'),
  closed: info('breaker_closed', 'breaker closed'),
  'forced-open': warn('breaker_forced_open', 'breaker forced open'),
  'forced-closed': warn('breaker_forced_closed', 'breaker forced closed'),
}

export const PAUSE_LINES: Readonly<Record<PauseReason, LogLine>> = {
  breaker: warn('consumer_paused', 'consumer paused: its breaker is open'),
  store: error('consumer_paused', 'consumer paused: its dead-letter store is unavailable'),
  ledger: error('consumer_paused', 'consumer paused: its ledger is unavailable'),
  manual: info('consumer_paused', 'consumer paused manually'),
}

export const LINES = {
  consumerResumed: info('consumer_resumed', 'consumer resumed'),
  stalled: error('subscription_stalled', 'broker subscription stalled'),
  recovered: info('subscription_recovered', 'broker subscription recovered'),
  deadLetter: error('dead_letter', 'event failed'),
  poison: error('poison_quarantined', 'event quarantined as poison'),
  spillDrained: info('spill_drained', 'spilled letters saved to their store'),
  lettersExpired: info('letters_expired', 'retention deleted dead letters'),
  healthFailed: warn('health_check_failed', 'health check failed'),
  healthPassed: info('health_check_passed', 'health check passed'),
  limitAlone: warn('shared_limit_alone', 'shared limit unreachable; using a local share of it'),
  limitTogether: info('shared_limit_together', 'shared limit reachable again'),
} satisfies Readonly<Record<string, LogLine>>

const LIMIT_ENDED = info('rate_limited_ended', 'the entry limit refuses no more events')

export const AGGREGATED_LINES = {
  untried: error('dead_letters_untried', 'events dead-lettered without an attempt'),
  spilled: warn('letters_spilled', 'letters spilled: their store is unavailable'),
  spillDrainFailed: error('spill_drain_failed', 'spilled letters could not be saved to their store'),
  letterWriteFailed: error('letter_write_failed', 'writing a dead letter failed'),
  settlementFailed: warn('settlement_failed', 'settlement failed; the broker delivers the event again'),
  userFunctionFailed: error('user_function_failed', 'a user function failed; its fallback was used'),
  lateRuns: warn('late_runs', 'handler still running after its timeout'),
  ledgerFailed: error('ledger_failed', 'ledger call failed'),
  claimsLost: error(
    'claims_lost',
    'claim taken by another process while its handler ran; the event may be handled twice',
  ),
  noticeFailed: error('notice_failed', 'notification of a dead letter failed'),
  journalFailed: error('journal_failed', 'journal of critical events failed'),
  trackingSwallowed: warn('tracking_failure_swallowed', 'tracking failed; the caller continued'),
  limited: { ...warn('rate_limited', 'the entry limit refused events'), ended: LIMIT_ENDED },
  limitedUnsaved: {
    ...error('rate_limited', 'the entry limit refused events, and no store has saved them yet'),
    ended: LIMIT_ENDED,
  },
  retriesLimited: warn('retries_limited', 'retries limited'),
  budgetExhausted: warn('budget_exhausted', 'retry budget exhausted'),
  dropped: error('events_dropped', 'events dropped'),
} satisfies Readonly<Record<string, AggregatedLine>>
