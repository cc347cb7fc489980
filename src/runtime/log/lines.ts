import type { BreakerMode } from '../../core/breaker/state.ts'
import type { PauseReason } from '../../ports/observer.ts'
import type { AggregatedLine, LogLine } from './aggregator.ts'

// The names and fields of lines are a contract with people who search logs: they are only ever added to. Levels: error,
// when an event is in danger or a person has to act; warn, when something fails and Lazaret handles it; info, when it
// has recovered or a person did it; debug, for steps in between.

export const BREAKER_LINES: Readonly<Record<BreakerMode, LogLine>> = {
  open: { what: 'breaker_opened', level: 'warn', message: 'breaker opened' },
  'half-open': { what: 'breaker_half_open', level: 'debug', message: 'breaker half-open' },
  closed: { what: 'breaker_closed', level: 'info', message: 'breaker closed' },
  'forced-open': { what: 'breaker_forced_open', level: 'warn', message: 'breaker forced open' },
  'forced-closed': { what: 'breaker_forced_closed', level: 'warn', message: 'breaker forced closed' },
}

export const PAUSE_LINES: Readonly<Record<PauseReason, LogLine>> = {
  breaker: { what: 'consumer_paused', level: 'warn', message: 'consumer paused: its breaker is open' },
  store: {
    what: 'consumer_paused',
    level: 'error',
    message: 'consumer paused: its dead-letter store is unavailable',
  },
  ledger: { what: 'consumer_paused', level: 'error', message: 'consumer paused: its ledger is unavailable' },
  manual: { what: 'consumer_paused', level: 'info', message: 'consumer paused manually' },
}

export const LINES = {
  consumerResumed: { what: 'consumer_resumed', level: 'info', message: 'consumer resumed' },
  stalled: { what: 'subscription_stalled', level: 'error', message: 'broker subscription stalled' },
  recovered: {
    what: 'subscription_recovered',
    level: 'info',
    message: 'broker subscription recovered',
  },
  deadLetter: { what: 'dead_letter', level: 'error', message: 'event failed' },
  poison: { what: 'poison_quarantined', level: 'error', message: 'event quarantined as poison' },
  spillDrained: { what: 'spill_drained', level: 'info', message: 'spilled letters saved to their store' },
  lettersExpired: { what: 'letters_expired', level: 'info', message: 'retention deleted dead letters' },
  healthFailed: { what: 'health_check_failed', level: 'warn', message: 'health check failed' },
  healthPassed: { what: 'health_check_passed', level: 'info', message: 'health check passed' },
  limitAlone: {
    what: 'shared_limit_alone',
    level: 'warn',
    message: 'shared limit unreachable; using a local share of it',
  },
  limitTogether: { what: 'shared_limit_together', level: 'info', message: 'shared limit reachable again' },
} as const satisfies Readonly<Record<string, LogLine>>

export const AGGREGATED_LINES = {
  untried: {
    what: 'dead_letters_untried',
    level: 'error',
    message: 'events dead-lettered without an attempt',
  },
  spilled: { what: 'letters_spilled', level: 'warn', message: 'letters spilled: their store is unavailable' },
  letterWriteFailed: { what: 'letter_write_failed', level: 'error', message: 'writing a dead letter failed' },
  settlementFailed: {
    what: 'settlement_failed',
    level: 'warn',
    message: 'settlement failed; the broker delivers the event again',
  },
  userFunctionFailed: {
    what: 'user_function_failed',
    level: 'error',
    message: 'a user function failed; its fallback was used',
  },
  lateRuns: { what: 'late_runs', level: 'warn', message: 'handler still running after its timeout' },
  ledgerFailed: { what: 'ledger_failed', level: 'error', message: 'ledger call failed' },
  claimsLost: {
    what: 'claims_lost',
    level: 'error',
    message: 'claim taken by another process while its handler ran; the event may be handled twice',
  },
  noticeFailed: { what: 'notice_failed', level: 'error', message: 'notification of a dead letter failed' },
  journalFailed: { what: 'journal_failed', level: 'error', message: 'journal of critical events failed' },
  trackingSwallowed: {
    what: 'tracking_failure_swallowed',
    level: 'warn',
    message: 'tracking failed; the caller continued',
  },
  limited: {
    what: 'rate_limited',
    level: 'warn',
    message: 'the entry limit refused events',
    ended: { what: 'rate_limited_ended', level: 'info', message: 'the entry limit refuses no more events' },
  },
  limitedUnsaved: {
    what: 'rate_limited',
    level: 'error',
    message: 'the entry limit refused events, and no store has saved them yet',
    ended: { what: 'rate_limited_ended', level: 'info', message: 'the entry limit refuses no more events' },
  },
  retriesLimited: { what: 'retries_limited', level: 'warn', message: 'retries limited' },
  budgetExhausted: { what: 'budget_exhausted', level: 'warn', message: 'retry budget exhausted' },
  dropped: { what: 'events_dropped', level: 'error', message: 'events dropped' },
} as const satisfies Readonly<Record<string, AggregatedLine>>
