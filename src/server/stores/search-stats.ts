import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { WAITING_STATES } from '../../core/dead-letter/state.ts'
import { MAX_COUNTED } from '../../operations/max-counted.ts'
import type { DeadLetterStore, HandlerCount, LetterFilter, LetterStats } from '../../ports/dead-letters.ts'

/** Up to this many letters, a search is counted exactly. */
const MAX_SEARCHED_EXACTLY = 50_000
/** Beyond that, counting stops at this number. */
const MAX_FOUND = 500

/**
 * The counts of a filter. A count that reads a million letters takes seconds and blocks other requests, so a store that would have
 * to read many letters, and a search in many letters, return a lower bound (`atLeast`). A plan has the exact number.
 */
export async function statsOf(letters: DeadLetterStore, filter: LetterFilter): Promise<LetterStats> {
  const { search, ...rest } = filter
  if (search === undefined) return letters.stats(filter, { stopAt: MAX_COUNTED })
  const among = await letters.stats(rest, { stopAt: MAX_SEARCHED_EXACTLY })
  if (!among.atLeast && among.count <= MAX_SEARCHED_EXACTLY) return letters.stats(filter)
  const page = await letters.list({ ...filter, limit: MAX_FOUND })
  return countLetters(page.letters, page.cursor === undefined)
}

/** The counts of these letters, newest first. `isAll` is true when no more letters match. */
export function countLetters(letters: readonly DeadLetter[], isAll: boolean): LetterStats {
  const times = letters.map(({ cycle }) => cycle.lastFailedAt)
  return {
    count: letters.length,
    oldestAt: isAll ? times.at(-1) : undefined,
    newestAt: times[0],
    byState: countBy(letters.map(({ state }) => state)),
    byReason: countBy(letters.map(({ cycle }) => cycle.reason)),
    byChannel: countBy(letters.map(({ channel }) => channel)),
    ...(isAll ? {} : { atLeast: true }),
  }
}

function countBy<K extends string>(names: readonly K[]): Record<K, number> {
  const counts = new Map<K, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  return Object.fromEntries(counts) as Record<K, number>
}

/** The counts of waiting letters, in the order of WAITING_STATES. */
export function waitingStats(
  letters: Pick<DeadLetterStore, 'stats'>,
  filter: Omit<LetterFilter, 'state'> = {},
): Promise<readonly LetterStats[]> {
  return Promise.all(WAITING_STATES.map(state => letters.stats({ ...filter, state })))
}

/** The waiting letters by channel and handler. Undefined if the store cannot count them so. */
export async function waitingByHandler(
  letters: Pick<DeadLetterStore, 'countByHandler'>,
): Promise<readonly HandlerCount[] | undefined> {
  const counts = await Promise.all(WAITING_STATES.map(state => letters.countByHandler?.({ state })))
  return counts.some(each => each === undefined) ? undefined : counts.flatMap(each => each ?? [])
}

export function countOf(stats: readonly LetterStats[]): number {
  return stats.reduce((sum, { count }) => sum + count, 0)
}

/** The last failure of the letter that waits longest. */
export function oldestOf(stats: readonly LetterStats[]): number | undefined {
  const times = stats.flatMap(({ oldestAt }) => oldestAt ?? [])
  return times.length === 0 ? undefined : Math.min(...times)
}
