import { withAudit } from '../adapter-kit/with-audit.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { LetterState } from '../core/dead-letter/state.ts'
import type { LetterFilter } from '../ports/dead-letters.ts'
import type { Store } from '../ports/store.ts'
import { auditedFilter } from './filter-text.ts'
import { countStates, deleteFrozen, type FrozenLetters, freeze } from './freeze.ts'

/** What is to be deleted. */
export interface PurgeRequest {
  readonly filter: LetterFilter
  readonly isExpiredOnly: boolean
  /** The cut-off, which is when the letters were counted: letters that fail later are not meant. */
  readonly at: number
}

/** The letters that a purge will delete, and no others. */
export interface Purge {
  readonly request: PurgeRequest
  readonly frozen: FrozenLetters
}

/** The first step: which letters there are. What is counted, shown and deleted afterwards is this. */
export async function freezePurge(store: Store, request: PurgeRequest, signal?: AbortSignal): Promise<Purge> {
  const frozen = await freeze(store, failedUntil(request), letter => isMeant(letter, request), signal)
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
 * Deletes them and answers how many went. The audit is told before the first goes, and once more if not all of them do:
 * because it was stopped, failed, or because some have changed since they were counted.
 */
export async function purgeLetters(
  store: Store,
  { request, frozen }: Purge,
  by: string,
  around: {
    readonly signal?: AbortSignal
    /** When it is done, for the audit [the cut-off]. */
    readonly at?: number
    /** Why, for the audit. */
    readonly note?: string
    onProgress?(deleted: number): Promise<void>
  } = {},
): Promise<number> {
  const { signal, at = request.at, note, onProgress } = around
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
      onDeleted: () => {
        deleted++
      },
      onBatch: async () => onProgress?.(deleted),
    })
    return deleted
  }
  return await withAudit(store.audit, entry, purge, {
    progress: () => ({ deleted }),
    shortfall: gone => (gone === count ? undefined : { deleted: gone }),
  })
}

function isMeant({ expiresAt }: DeadLetter, { isExpiredOnly, at }: PurgeRequest): boolean {
  return !isExpiredOnly || (expiresAt !== undefined && expiresAt <= at)
}
