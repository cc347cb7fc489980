import type { DeadLetter } from '../core/dead-letter/letter.ts'
import { isHeld, type LetterState } from '../core/dead-letter/state.ts'
import type { LetterFilter } from '../ports/dead-letters.ts'
import type { Store } from '../ports/store.ts'
import { filterInWords } from './filter-words.ts'
import { walk } from './walk.ts'

/** Deletions under way at once: enough to fill a store's transaction, few enough to stop soon. */
const BATCH = 100

/** What is to be deleted. It is frozen at a time: what fails later is not in it. */
export interface Purge {
  readonly filter: LetterFilter
  readonly isExpiredOnly: boolean
  readonly at: number
}

/** How many of them there are, by state. */
export async function countPurge(store: Store, purge: Purge): Promise<ReadonlyMap<LetterState, number>> {
  if (!purge.isExpiredOnly) {
    const { byState } = await store.deadLetters.stats(frozen(purge))
    return new Map(Object.entries(byState) as [LetterState, number][])
  }
  const counts = new Map<LetterState, number>()
  for await (const page of walk(store.deadLetters, frozen(purge))) {
    for (const { state } of page.filter(letter => isMeant(letter, purge)))
      counts.set(state, (counts.get(state) ?? 0) + 1)
  }
  return counts
}

/**
 * Deletes them in bounded batches and answers how many went. Events of the same key that wait behind a deleted one go
 * on. An abort ends it after the batch under way.
 */
export async function purgeLetters(
  store: Store,
  purge: Purge,
  by: string,
  around: {
    readonly signal?: AbortSignal
    /** Why, for the audit. */
    readonly note?: string
    onProgress?(deleted: number): Promise<void>
  } = {},
): Promise<number> {
  const { signal, note, onProgress } = around
  let deleted = 0
  try {
    for await (const page of walk(store.deadLetters, frozen(purge), BATCH)) {
      if (signal?.aborted) break
      const meant = page.filter(letter => isMeant(letter, purge))
      const gone = await Promise.all(meant.map(letter => deleteOne(store, letter)))
      deleted += gone.filter(Boolean).length
      await onProgress?.(deleted)
    }
  } finally {
    if (deleted > 0) {
      const target = `${purge.isExpiredOnly ? 'expired, ' : ''}${filterInWords(purge.filter)}`
      const detail = { deleted, ...(note === undefined ? {} : { note }) }
      await store.audit.append({ at: purge.at, by, action: 'letters.purge', target, detail })
    }
  }
  return deleted
}

/** As it was looked at: one that has failed anew since is no longer meant, and may be all there is of its event. */
async function deleteOne(store: Store, letter: DeadLetter): Promise<boolean> {
  const { id, channel, handler, event, state, cycle } = letter
  const isGone = await store.deadLetters.delete(id, { state, lastFailedAt: cycle.lastFailedAt })
  if (isGone && isHeld(state)) await store.broker?.letGo(channel, event.id, handler)
  return isGone
}

function frozen({ filter, at }: Purge): LetterFilter {
  const justNow = at + 1
  return { ...filter, before: Math.min(filter.before ?? justNow, justNow) }
}

function isMeant({ expiresAt }: DeadLetter, { isExpiredOnly, at }: Purge): boolean {
  return !isExpiredOnly || (expiresAt !== undefined && expiresAt <= at)
}
