import { MASK } from '../../core/dead-letter/mask-text.ts'
import type { Replay, ReplayItem } from '../../ports/replays.ts'
import type { Room } from '../room.ts'
import type { NamedStore } from '../stores/federation.ts'
import { masksOfResend } from '../views/hidden.ts'

const WHYS_SHOWN = 5

/** Says why the gates decided as they did about an item, as it may be shown. */
export function whyTeller({ masks }: Room, { store }: Pick<NamedStore, 'store'>, { patch }: Replay) {
  return async ({ why, decision, letterId }: ReplayItem): Promise<string | undefined> => {
    // Only a schema speaks of what is in the payload.
    if (why === undefined || decision !== 'skip_schema') return why && masks.maskText(why)
    const letter = await store.deadLetters.get(letterId)
    // Without the letter nobody knows what of it is masked.
    if (letter === undefined && masks.hidesNothing !== true) return MASK
    return masksOfResend(letter, patch, masks).maskText(why)
  }
}

/**
 * The reasons given most, as they may be shown. What one letter hides does for all of which the same is said: it was
 * said of each of them.
 */
export async function mostGiven(
  items: readonly ReplayItem[],
  tell: (item: ReplayItem) => Promise<string | undefined>,
): Promise<{ why: string; count: number }[]> {
  const byWhy = Map.groupBy(
    items.filter(({ why }) => why !== undefined),
    ({ why }) => why,
  )
  const ranked = [...byWhy.values()].sort((a, b) => b.length - a.length).slice(0, WHYS_SHOWN)
  const told = new Map<string, number>()
  for (const same of ranked) {
    const why = (await tell(same[0]!)) ?? ''
    told.set(why, (told.get(why) ?? 0) + same.length)
  }
  return [...told].map(([why, count]) => ({ why, count }))
}
