import { MASK } from '../../core/dead-letter/mask-text.ts'
import type { Masks } from '../../core/dead-letter/masks.ts'
import { masksOfLetters } from '../../operations/quoted-letters.ts'
import type { Replay, ReplayDecision, ReplayItem } from '../../ports/replays.ts'
import type { Store } from '../../ports/store.ts'

const REASONS_SHOWN = 5
/** The gates that give a reason in their own words. A schema, a route or a receiver can quote the event. */
const OWN_REASONS: ReadonlySet<ReplayDecision> = new Set(['skip_state', 'skip_unapproved', 'skip_expired'])

/** Returns a function that masks the reason of a gate for an item. */
export function createReasonMasker(
  masks: Masks,
  { deadLetters }: Pick<Store, 'deadLetters'>,
  { patch }: Pick<Replay, 'patch'>,
) {
  return async ({ reason, decision, letterId }: ReplayItem): Promise<string | undefined> => {
    if (reason === undefined || OWN_REASONS.has(decision)) return reason && masks.maskText(reason)
    const letter = await deadLetters.get(letterId)
    // Without the letter it is unknown which values are masked.
    if (letter === undefined && decision === 'skip_schema' && masks.hidesNothing !== true) return MASK
    return masksOfLetters([letter], { patch }, masks).maskText(reason)
  }
}

/**
 * The most frequent reasons, masked. Letters with the same reason text share the masks of the first letter, because the
 * text is the same.
 */
export async function mostFrequentReasons(
  items: readonly ReplayItem[],
  maskReason: (item: ReplayItem) => Promise<string | undefined>,
): Promise<{ reason: string; count: number }[]> {
  const byReason = Map.groupBy(
    items.filter(({ reason }) => reason !== undefined),
    ({ reason }) => reason,
  )
  const ranked = [...byReason.values()].sort((a, b) => b.length - a.length).slice(0, REASONS_SHOWN)
  const counts = new Map<string, number>()
  for (const same of ranked) {
    const reason = (await maskReason(same[0]!)) ?? ''
    counts.set(reason, (counts.get(reason) ?? 0) + same.length)
  }
  return [...counts].map(([reason, count]) => ({ reason, count }))
}
