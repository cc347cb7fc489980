import { groupingOf } from '../core/dead-letter/group.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { DeadLetterStore } from '../ports/dead-letters.ts'
import type { ItemStatus, ReplayItem } from '../ports/replays.ts'

/**
 * What became of a letter that was sent; undefined while nobody knows. The letter itself tells: a handler that succeeds
 * resolves it, one that fails brings it back as its next cycle.
 */
export function outcomeOf(item: ReplayItem, letter: DeadLetter | undefined): ItemStatus | undefined {
  if (letter === undefined) return 'lost'
  if (letter.state === 'replaying') return undefined
  if (letter.state === 'resolved') return 'recovered'
  if (letter.state === 'discarded') return 'skipped'
  const isSameCause = letter.cycle.number >= (item.cycle ?? 0) && groupingOf(letter).id === item.fingerprint
  return isSameCause ? 'failed_same_cause' : 'failed_new_cause'
}

/** The items whose outcome is known by now, with it. */
export async function endedItems(
  letters: DeadLetterStore,
  sent: readonly ReplayItem[],
  now: number,
): Promise<readonly ReplayItem[]> {
  const looked = await Promise.all(
    sent.map(async item => ({ item, status: outcomeOf(item, await letters.get(item.letterId)) })),
  )
  return looked.flatMap(({ item, status }) =>
    status === undefined ? [] : [{ ...item, status, endedAt: now }],
  )
}
