import { createHash } from 'node:crypto'
import { letterPages } from '../adapter-kit/query/letter-pages.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import { isHeld, type LetterState } from '../core/dead-letter/state.ts'
import type { LetterFilter, LetterVersion } from '../ports/dead-letters.ts'
import type { Store } from '../ports/store.ts'

/** Deletions under way at once: enough to fill a store's transaction, few enough to stop soon. */
const BATCH = 100
/** What is remembered of so many letters takes a few hundred megabytes. */
const MAX_FROZEN = 1_000_000

/**
 * Letters as they were at one moment. Deleting them deletes these and no others: a letter that is stored later is not
 * among them, whatever times it carries, and one that has changed since is left alone.
 */
export interface FrozenLetters {
  readonly filter: LetterFilter
  readonly letters: ReadonlyMap<string, LetterVersion>
  /** There were more than can be remembered; these are the ones that failed last. */
  readonly isCut: boolean
}

export async function freeze(
  store: Store,
  filter: LetterFilter,
  isMeant: (letter: DeadLetter) => boolean,
  signal?: AbortSignal,
): Promise<FrozenLetters> {
  const letters = new Map<string, LetterVersion>()
  for await (const page of letterPages(store.deadLetters, filter)) {
    if (signal?.aborted) break
    for (const letter of page) {
      if (!isMeant(letter)) continue
      if (letters.size >= MAX_FROZEN) return { filter, letters, isCut: true }
      letters.set(letter.id, { state: letter.state, lastFailedAt: letter.cycle.lastFailedAt })
    }
  }
  return { filter, letters, isCut: false }
}

export function countStates({ letters }: FrozenLetters): ReadonlyMap<LetterState, number> {
  const counts = new Map<LetterState, number>()
  for (const { state } of letters.values()) counts.set(state, (counts.get(state) ?? 0) + 1)
  return counts
}

/**
 * A digest of the letters of one or more stores, by store name: equal only for the same letters in the same states. It
 * lets a person confirm in a later request what an earlier one showed, without the server remembering it.
 */
export function digestFrozen(stores: ReadonlyMap<string, FrozenLetters>): string {
  const lines = [...stores].flatMap(([name, { letters }]) =>
    [...letters].map(([id, { state, lastFailedAt }]) => JSON.stringify([name, id, state, lastFailedAt])),
  )
  return createHash('sha256').update(lines.sort().join('\n')).digest('hex')
}

interface DeleteOptions {
  /** An abort ends it after the batch under way. */
  readonly signal?: AbortSignal | undefined
  onDeleted?(state: LetterState): void
  onBatch?(): Promise<void>
}

/** Deletes them in bounded batches. Events of the same key that wait behind a deleted one go on. */
export async function deleteFrozen(
  store: Store,
  { filter, letters }: FrozenLetters,
  { signal, onDeleted, onBatch }: DeleteOptions,
): Promise<void> {
  for await (const page of letterPages(store.deadLetters, filter, BATCH)) {
    if (signal?.aborted) break
    const meant = page.filter(letter => letters.has(letter.id))
    if (meant.length === 0) continue
    await Promise.all(
      meant.map(async letter => {
        const seen = letters.get(letter.id)!
        if (await deleteOne(store, letter, seen)) onDeleted?.(seen.state)
      }),
    )
    await onBatch?.()
  }
}

/**
 * Deletes the letter if it is unchanged since the freeze: a letter that has failed again was not selected, and may be
 * the only record of its event.
 */
async function deleteOne(store: Store, letter: DeadLetter, seen: LetterVersion): Promise<boolean> {
  const { id, channel, handler, event } = letter
  const isGone = await store.deadLetters.delete(id, seen)
  if (isGone && isHeld(seen.state)) await store.broker?.unblockKey(channel, event.id, handler)
  return isGone
}
