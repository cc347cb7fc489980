import { LETTER_STATES } from '../../core/dead-letter/state.ts'
import type { DeadLetterStore, LetterFilter, LetterStats } from '../../ports/dead-letters.ts'

/** Those of letters that still wait for someone. */
export const WAITING_STATES = LETTER_STATES.filter(
  state => state === 'dead' || state === 'quarantined' || state === 'parked',
)

/** What waits, in the order of WAITING_STATES. */
export function waitingStats(
  letters: Pick<DeadLetterStore, 'stats'>,
  filter: Omit<LetterFilter, 'state'> = {},
): Promise<readonly LetterStats[]> {
  return Promise.all(WAITING_STATES.map(state => letters.stats({ ...filter, state })))
}

export function countOf(stats: readonly LetterStats[]): number {
  return stats.reduce((sum, { count }) => sum + count, 0)
}

/** When the letter that waits longest last failed. */
export function oldestOf(stats: readonly LetterStats[]): number | undefined {
  const times = stats.flatMap(({ oldestAt }) => oldestAt ?? [])
  return times.length === 0 ? undefined : Math.min(...times)
}
