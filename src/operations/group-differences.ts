import { shownFields } from '../core/dead-letter/fields.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { Masks } from '../core/dead-letter/masks.ts'
import { type Separation, separateFields } from '../core/dead-letter/separating-fields.ts'
import type { Store } from '../ports/store.ts'

/** The newest letters of each kind that are compared. */
const SAMPLE_SIZE = 100

/** What differs between the failed and the recovered letters of a group. */
export interface GroupDifferences extends Separation {
  /** The number of letters that were compared. */
  readonly failed: number
  readonly recovered: number
}

/**
 * Compares payloads, headers and metadata of the newest dead letters of a group with those of its newest resolved ones, masked. A letter
 * that recovered with an edited payload is left out, because its original would fail again.
 */
export async function readGroupDifferences(
  { deadLetters, replays }: Pick<Store, 'deadLetters' | 'replays'>,
  group: string,
  masks: Masks,
): Promise<GroupDifferences> {
  const [dead, resolved] = await Promise.all([
    deadLetters.list({ group, state: 'dead', limit: SAMPLE_SIZE }),
    deadLetters.list({ group, state: 'resolved', limit: SAMPLE_SIZE }),
  ])
  const ids = [...new Set(resolved.letters.flatMap(({ replayId }) => replayId ?? []))]
  const edited = new Set(
    (await Promise.all(ids.map(id => replays.get(id)))).flatMap(each =>
      each?.patch === undefined ? [] : each.id,
    ),
  )
  const recovered = resolved.letters.filter(({ replayId }) => replayId === undefined || !edited.has(replayId))
  const shown = (letters: readonly DeadLetter[]) =>
    letters.map(letter => shownFields(letter, masks, { entries: 'together' }))
  return {
    ...separateFields(shown(dead.letters), shown(recovered)),
    failed: dead.letters.length,
    recovered: recovered.length,
  }
}
