import { expiryEntry, sumOf } from '../adapter-kit/expiry.ts'
import { withAudit } from '../adapter-kit/with-audit.ts'
import { isPastRetention, type Retention } from '../core/dead-letter/retention.ts'
import type { LetterState } from '../core/dead-letter/state.ts'
import type { DeadLetterStore, LetterCounts } from '../ports/dead-letters.ts'
import type { Observer } from '../ports/observer.ts'
import type { Store } from '../ports/store.ts'
import { countStates, deleteFrozen, freeze } from './freeze.ts'

/**
 * Deletes the letters that are past their retention, and answers how many of which state went. One entry in the audit tells
 * of a run that deletes anything. A store that keeps a retention of its own is left to apply it.
 */
export async function applyRetention(
  store: Store | DeadLetterStore,
  retention: Retention,
  at: number,
  around: { readonly signal?: AbortSignal | undefined; readonly observer?: Observer | undefined } = {},
): Promise<LetterCounts> {
  const expired = await expire(store, retention, at, around.signal)
  const count = sumOf(expired)
  const name = 'deadLetters' in store ? store.url : LETTERS_ALONE
  if (count > 0) around.observer?.lettersExpired?.({ store: name, count, byState: expired })
  return expired
}

/** The name of a store of dead letters alone, which has no URL. */
const LETTERS_ALONE = 'dead letters'

async function expire(
  store: Store | DeadLetterStore,
  retention: Retention,
  at: number,
  signal: AbortSignal | undefined,
): Promise<LetterCounts> {
  const letters = 'deadLetters' in store ? store.deadLetters : store
  if (letters.expire !== undefined) return await letters.expire(at)
  return 'deadLetters' in store ? await expireFrozen(store, retention, at, signal) : {}
}

async function expireFrozen(
  store: Store,
  retention: Retention,
  at: number,
  signal: AbortSignal | undefined,
): Promise<LetterCounts> {
  const frozen = await freeze(store, {}, letter => isPastRetention(letter, retention, at), signal)
  if (frozen.letters.size === 0) return {}
  const gone = new Map<LetterState, number>()
  const entry = expiryEntry(at, Object.fromEntries(countStates(frozen)))
  const told = () => ({ deleted: sumOf(Object.fromEntries(gone)) })
  const expire = async (): Promise<LetterCounts> => {
    await deleteFrozen(store, frozen, {
      signal,
      onDone: state => gone.set(state, (gone.get(state) ?? 0) + 1),
    })
    return Object.fromEntries(gone)
  }
  return await withAudit(store.audit, entry, expire, {
    progress: told,
    shortfall: counts => (sumOf(counts) === frozen.letters.size ? undefined : told()),
  })
}
