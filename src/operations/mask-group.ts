import { groupingForDisplay } from '../core/dead-letter/event-masks.ts'
import { MASK } from '../core/dead-letter/mask-text.ts'
import type { Masks } from '../core/dead-letter/masks.ts'
import type { DeadLetterStore } from '../ports/dead-letters.ts'
import type { Group } from '../ports/groups.ts'
import type { Replays } from '../ports/replays.ts'
import { masksFor } from './replay-patches.ts'

interface GroupStore {
  readonly deadLetters: Pick<DeadLetterStore, 'list'>
  readonly replays: Pick<Replays, 'get'>
}

/** What of a group is made of an error's text. */
export type GroupTexts = Pick<Group, 'title' | 'basis'>

/**
 * The texts of a group as they may be shown. The texts quote an error, and only a letter knows which words of it are
 * masked. So the texts are built from the newest letter of the group. Without a letter they are not shown.
 */
export async function maskGroupTexts(
  { deadLetters, replays }: GroupStore,
  { id, title, basis, rule }: Pick<Group, 'id' | 'title' | 'basis' | 'rule'>,
  masks: Masks,
): Promise<GroupTexts> {
  // A reason and a handler name do not quote an error.
  if (masks.hidesNothing === true || rule === 'reason')
    return { title: masks.maskText(title), basis: masks.maskText(basis) }
  const [newest] = (await deadLetters.list({ group: id, limit: 1 })).letters
  if (newest === undefined) return { title: MASK, basis: MASK }
  const shown = groupingForDisplay(newest, await masksFor({ replays }, [newest], masks))
  return { title: shown.title, basis: shown.basis }
}

export async function maskGroup(store: GroupStore, group: Group, masks: Masks): Promise<Group> {
  return { ...group, ...(await maskGroupTexts(store, group, masks)) }
}
