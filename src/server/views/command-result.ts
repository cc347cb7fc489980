import { MASK } from '../../core/dead-letter/mask-text.ts'
import type { Masks } from '../../core/dead-letter/masks.ts'
import type { CommandTask } from '../../ports/commands.ts'
import type { PatchOperation } from '../../ports/replays.ts'
import type { Store } from '../../ports/store.ts'
import type { LetterValidity } from '../../runtime/fleet/letter-tasks.ts'
import { masksOfResend } from './payload-masks.ts'

/**
 * The result of a command for a reader. The reason why a letter is not valid can quote its payload, so the reason is masked
 * with what is hidden in that letter. Without the letter it is unknown which values are masked.
 */
export async function maskedResult(
  result: unknown,
  { kind, patch }: CommandTask,
  { deadLetters }: Pick<Store, 'deadLetters'>,
  masks: Masks,
): Promise<unknown> {
  if (kind !== 'validate' || masks.hidesNothing === true) return result
  const { letters = [], ...counts } = result as { readonly letters?: readonly LetterValidity[] }
  const maskReason = async ({ id, reason }: LetterValidity): Promise<string | undefined> => {
    if (reason === undefined) return undefined
    const letter = await deadLetters.get(id)
    if (letter === undefined) return MASK
    return masksOfResend(letter, patch as readonly PatchOperation[] | undefined, masks).maskText(reason)
  }
  return {
    ...counts,
    letters: await Promise.all(
      letters.map(async validity => ({ ...validity, reason: await maskReason(validity) })),
    ),
  }
}
