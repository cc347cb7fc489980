import { LetterStatsCounter } from '../../adapter-kit/query/letter-stats.ts'
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
  const counter = new LetterStatsCounter()
  for (const letter of page.letters) counter.addLetter(letter)
  return counted(counter, page.cursor === undefined)
}

/** The counts of the newest letters that match. `isAll` is false when older ones may match too. */
export function counted({ stats }: LetterStatsCounter, isAll: boolean): LetterStats {
  return isAll ? stats : { ...stats, oldestAt: undefined, atLeast: true }
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
