// Actions on every letter that matches: purge, discard, release, assign and export. Each works on a frozen selection, in batches,
// with progress, cancel and an audit entry.
import { withAudit } from '../adapter-kit/with-audit.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { LetterState } from '../core/dead-letter/state.ts'
import type { JsonValue } from '../core/event/event.ts'
import type { Clock } from '../ports/clock.ts'
import type { LetterFilter } from '../ports/dead-letters.ts'
import type { Store } from '../ports/store.ts'
import type { Decision } from './decision.ts'
import { auditedFilter } from './filter-text.ts'
import {
  type Batch,
  countStates,
  type FrozenLetters,
  type FrozenStep,
  freeze,
  workOnFrozen,
} from './freeze.ts'
import { KeyUnblocker } from './unblock-keys.ts'

/** The letters to work on. */
export interface BulkRequest {
  readonly filter: LetterFilter
  readonly isExpiredOnly?: boolean | undefined
  /** Only letters in these states [all states]. */
  readonly states?: readonly LetterState[] | undefined
  /** The cut-off: the time when the letters were counted. Letters that fail later stay as they are. */
  readonly at: number
}

/** The letters that an action will work on, and no others. */
export interface BulkSelection {
  readonly request: BulkRequest
  readonly frozen: FrozenLetters
}

/** What is done with the letters. */
export interface BulkAction {
  /** The action of the audit entry. */
  readonly name: string
  /** The word for a letter that was worked on: `deleted`, `changed` or `exported`. */
  readonly done: 'deleted' | 'changed' | 'exported'
  /** More for the audit entry. */
  readonly detail?: Readonly<Record<string, JsonValue>> | undefined
  step(store: Store, decision: Decision, keys: KeyUnblocker): FrozenStep
}

/** The first step: selects the letters. The later steps count, show and change exactly these letters. */
export async function freezeBulk(
  store: Store,
  request: BulkRequest,
  signal?: AbortSignal,
): Promise<BulkSelection> {
  const isMeant = request.isExpiredOnly ? (letter: DeadLetter) => isExpired(letter, request.at) : undefined
  const frozen = await freeze(store, failedUntil(request), isMeant, signal)
  return { request, frozen: onlyIn(frozen, request.states) }
}

function onlyIn(frozen: FrozenLetters, states: readonly LetterState[] | undefined): FrozenLetters {
  if (states === undefined) return frozen
  const letters = new Map([...frozen.letters].filter(([, { state }]) => states.includes(state)))
  return { ...frozen, letters }
}

/** The filter of what an action can mean, for counting it quickly. */
export function failedUntil({ filter, at }: BulkRequest): LetterFilter {
  const justNow = at + 1
  return { ...filter, before: Math.min(filter.before ?? justNow, justNow) }
}

/** How many of them there are, by state. */
export function countSelection({ frozen }: BulkSelection): ReadonlyMap<LetterState, number> {
  return countStates(frozen)
}

/**
 * Works on the letters and returns how many it worked on. The audit log gets an entry before the first one, and another if not
 * all were worked on: because the action was cancelled or failed, or because letters have changed since they were counted.
 */
export async function runBulk(
  store: Store,
  { request, frozen }: BulkSelection,
  action: BulkAction,
  by: string,
  around: {
    /** An abort cancels the action after the batch under way. */
    readonly signal?: AbortSignal | undefined
    /** Measures the batches [the clock of the machine]. */
    readonly clock?: Clock | undefined
    /** When it is done, for the audit [the cut-off]. */
    readonly at?: number
    /** Why, for the audit. */
    readonly note?: string | undefined
    /** Unblocks the keys of discarded letters [in the broker of the store]. */
    readonly keys?: KeyUnblocker
    /** Called after every letter, with how many were worked on. A batch that fails has worked on some of its letters. */
    onDone?(done: number): void
    /** Called after every batch, with its size and the time that it took. */
    onProgress?(done: number, batch: Batch): Promise<void> | void
  } = {},
): Promise<number> {
  const { signal, clock, at = request.at, note, keys = new KeyUnblocker(store), onDone, onProgress } = around
  const count = frozen.letters.size
  if (count === 0) return 0
  let done = 0
  const { target, detail: searched } = auditedFilter(request.filter)
  const entry = {
    at,
    by,
    action: action.name,
    target: `${request.isExpiredOnly ? 'expired, ' : ''}${target}`,
    detail: {
      letters: count,
      byState: Object.fromEntries(countStates(frozen)),
      ...searched,
      ...action.detail,
      ...(note === undefined ? {} : { note }),
    },
  }
  const work = async () => {
    await workOnFrozen(frozen, action.step(store, { by, at, note }, keys), {
      signal,
      clock,
      onDone: () => {
        done++
        onDone?.(done)
      },
      onBatch: batch => onProgress?.(done, batch),
    })
    return done
  }
  return await withAudit(store.audit, entry, work, {
    progress: () => ({ [action.done]: done }),
    shortfall: ended => {
      const blocked = keys.shortfall()
      if (ended === count) return blocked && { [action.done]: ended, ...blocked }
      return { [action.done]: ended, ...(signal?.aborted ? { cancelled: true } : {}), ...blocked }
    },
  })
}

function isExpired({ expiresAt }: DeadLetter, at: number): boolean {
  return expiresAt !== undefined && expiresAt <= at
}
