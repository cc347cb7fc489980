import { withAudit } from '../adapter-kit/with-audit.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { LetterState } from '../core/dead-letter/state.ts'
import type { Clock } from '../ports/clock.ts'
import type { LetterFilter } from '../ports/dead-letters.ts'
import type { Store } from '../ports/store.ts'
import { auditedFilter } from './filter-text.ts'
import { type Batch, countStates, deleteFrozen, type FrozenLetters, freeze } from './freeze.ts'

/** The letters to delete. */
export interface PurgeRequest {
  readonly filter: LetterFilter
  readonly isExpiredOnly: boolean
  /** The cut-off: the time when the letters were counted. Letters that fail later stay. */
  readonly at: number
}

/** The letters that a purge will delete, and no others. */
export interface Purge {
  readonly request: PurgeRequest
  readonly frozen: FrozenLetters
}

/** The first step: selects the letters. The later steps count, show and delete exactly these letters. */
export async function freezePurge(store: Store, request: PurgeRequest, signal?: AbortSignal): Promise<Purge> {
  const isMeant = request.isExpiredOnly ? (letter: DeadLetter) => isExpired(letter, request.at) : undefined
  const frozen = await freeze(store, failedUntil(request), isMeant, signal)
  return { request, frozen }
}

/** The filter of what a purge can mean, for counting it quickly. */
export function failedUntil({ filter, at }: PurgeRequest): LetterFilter {
  const justNow = at + 1
  return { ...filter, before: Math.min(filter.before ?? justNow, justNow) }
}

/** How many of them there are, by state. */
export function countPurge({ frozen }: Purge): ReadonlyMap<LetterState, number> {
  return countStates(frozen)
}

/**
 * Deletes the letters and returns how many were deleted. The audit log gets an entry before the first one, and another if not
 * all were deleted: because the purge was cancelled or failed, or because letters have changed since they were counted.
 */
export async function purgeLetters(
  store: Store,
  { request, frozen }: Purge,
  by: string,
  around: {
    /** An abort cancels the purge after the batch under way. */
    readonly signal?: AbortSignal | undefined
    /** Measures the batches [the clock of the machine]. */
    readonly clock?: Clock | undefined
    /** When it is done, for the audit [the cut-off]. */
    readonly at?: number
    /** Why, for the audit. */
    readonly note?: string
    /** Called after every batch, with its size and the time that it took. */
    onProgress?(deleted: number, batch: Batch): Promise<void> | void
  } = {},
): Promise<number> {
  const { signal, clock, at = request.at, note, onProgress } = around
  const count = frozen.letters.size
  if (count === 0) return 0
  let deleted = 0
  const { target, detail: searched } = auditedFilter(request.filter)
  const entry = {
    at,
    by,
    action: 'letters.purge',
    target: `${request.isExpiredOnly ? 'expired, ' : ''}${target}`,
    detail: {
      letters: count,
      byState: Object.fromEntries(countStates(frozen)),
      ...searched,
      ...(note === undefined ? {} : { note }),
    },
  }
  const purge = async () => {
    await deleteFrozen(store, frozen, {
      signal,
      clock,
      onDeleted: () => {
        deleted++
      },
      onBatch: batch => onProgress?.(deleted, batch),
    })
    return deleted
  }
  return await withAudit(store.audit, entry, purge, {
    progress: () => ({ deleted }),
    shortfall: gone =>
      gone === count ? undefined : { deleted: gone, ...(signal?.aborted ? { cancelled: true } : {}) },
  })
}

function isExpired({ expiresAt }: DeadLetter, at: number): boolean {
  return expiresAt !== undefined && expiresAt <= at
}
