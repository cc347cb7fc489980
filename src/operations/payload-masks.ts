import { masksOfLetter } from '../core/dead-letter/event-masks.ts'
import { allValues, type HiddenValues, hiddenValues, joinHidden } from '../core/dead-letter/hidden-values.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import { startCursors, stepInto } from '../core/dead-letter/mask-path.ts'
import type { Masks } from '../core/dead-letter/masks.ts'
import type { PatchOperation } from '../ports/replays.ts'

/** The masks inside a property or array entry; undefined if all of it is masked. */
export function masksInto(masks: Masks | undefined, step: string | number): Masks | undefined {
  if (masks === undefined || masks.isMaskedName(String(step))) return undefined
  const { open, arrived } = stepInto(startCursors(masks.paths), step)
  return arrived ? undefined : { ...masks, paths: open }
}

export function masksOfPayload(masks: Masks): Masks | undefined {
  return masksInto(masks, 'payload')
}

/** The masks at a JSON Pointer into the payload. A number may be an index or a name, so it counts as both. */
export function masksAt(masks: Masks, pointer: string): Masks | undefined {
  return stepsOf(pointer).reduce(
    (inside: Masks | undefined, step) => masksInto(inside, /^(\d+|-)$/.test(step) ? Number(step) : step),
    masksOfPayload(masks),
  )
}

export function stepsOf(pointer: string): readonly string[] {
  const steps = pointer.split('/').slice(1)
  return steps.map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))
}

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
