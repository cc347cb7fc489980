import { masksOfLetter } from '../core/dead-letter/event-masks.ts'
import { allValues, type HiddenValues, hiddenValues, joinHidden } from '../core/dead-letter/hidden-values.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { Masks } from '../core/dead-letter/masks.ts'
import { masksAt } from '../core/dead-letter/masks-at.ts'
import type { PatchOperation } from '../ports/replays.ts'

/** The values that a patch writes to masked paths. */
export function hiddenInPatch(patch: readonly PatchOperation[] | undefined, masks: Masks): HiddenValues {
  return joinHidden(
    ...(patch ?? []).map(({ path, value }) => {
      const inside = masksAt(masks, path)
      return inside === undefined ? allValues(value, masks) : hiddenValues(value, inside)
    }),
  )
}

/**
 * The masks for texts about a letter that is about to be sent. A schema error may quote values that are masked in the
 * letter or in the patch.
 */
export function masksOfResend(
  letter: DeadLetter,
  patch: readonly PatchOperation[] | undefined,
  masks: Masks,
): Masks {
  return masksOfLetter(letter, masks, hiddenInPatch(patch, masks))
}
