import { DEFAULT_RETENTION_MS, retentionRule } from '../core/dead-letter/retention.ts'
import { resolveOptions } from '../core/options/resolve.ts'
import { custom, listener, optional, withDefault } from '../core/options/rules.ts'
import { type Clock, clockRule } from '../ports/clock.ts'
import type { DeadLetterStore, LetterCounts } from '../ports/dead-letters.ts'
import type { Observer } from '../ports/observer.ts'
import type { Store } from '../ports/store.ts'
import { observerRule } from '../runtime/option-rules.ts'
import { applyRetention } from './retention.ts'
import { cronRule, type Schedule, startSchedule } from './schedule.ts'

/** Options of `startHousekeeping()`. */
export interface HousekeepingOptions {
  /** The store whose letters it deletes. A file or Redis store of dead letters alone will do. */
  readonly store: Store | DeadLetterStore
  /** When it runs: the five fields of a cron pattern, in UTC ['0 2 * * *': at 02:00 every day]. */
  readonly cron?: string | undefined
  /**
   * How long decided letters, resolved or discarded, are kept after their last change, in ms [7 days]. Stores with a
   * retention of their own, file and Redis, apply that.
   */
  readonly retentionMs?: number | 'never' | undefined
  /**
   * The same for undecided letters that have neither a time to live of their own nor 'never', in ms ['never']. A run
   * then deletes events that were never handled.
   */
  readonly expireUndecidedAfterMs?: number | 'never' | undefined
  /** Receives `lettersExpired` after each run that deletes letters [none]. Metrics and logs count it. */
  readonly observer?: Observer | undefined
  /** Receives the number of deleted letters by state after each run [none]. */
  readonly onRun?: ((deleted: LetterCounts) => void) | undefined
  /** Receives errors of a run [none]. The schedule goes on with the next run. */
  readonly onError?: ((error: unknown) => void) | undefined
  /** Supplies the time and the timers [the system clock]. Replace it in tests. */
  readonly clock?: Clock | undefined
}

/** The time of housekeeping by default: 02:00 every day, in UTC. */
export const DEFAULT_HOUSEKEEPING_CRON = '0 2 * * *'
/** The name under which processes claim a run. */
const CLEANUP_TURN = 'cleanup'

const rules = {
  store: custom(
    isSwept,
    'give a store, such as sqliteStore(…), or the dead letters of a file or Redis store',
  ),
  cron: withDefault(cronRule, DEFAULT_HOUSEKEEPING_CRON),
  retentionMs: withDefault(retentionRule, DEFAULT_RETENTION_MS),
  expireUndecidedAfterMs: withDefault(retentionRule, 'never'),
  observer: optional(observerRule),
  onRun: withDefault(listener<(deleted: LetterCounts) => void>(), () => {}),
  onError: withDefault(listener<(error: unknown) => void>(), () => {}),
  clock: clockRule,
}

/**
 * Deletes letters past their retention on a schedule, inside the service. Each run that deletes letters writes one entry to
 * the audit log. Several processes may do this with one store: where the store has a ledger, one of them does each run;
 * elsewhere a letter that another process has deleted is left out of the count.
 */
export function startHousekeeping(options: HousekeepingOptions): Schedule {
  const { store, cron, clock, observer, onRun, onError, ...retention } = resolveOptions(
    'housekeeping',
    rules,
    options,
  )
  const ledger = 'deadLetters' in store ? store.ledger : undefined
  return startSchedule(cron, { clock, onError, turn: { ledger, what: CLEANUP_TURN } }, async signal =>
    onRun(await applyRetention(store, retention, clock.now(), { signal, observer })),
  )
}

function isSwept(value: unknown): value is Store | DeadLetterStore {
  if (typeof value !== 'object' || value === null) return false
  return 'deadLetters' in value ? 'audit' in value : typeof (value as DeadLetterStore).expire === 'function'
}
