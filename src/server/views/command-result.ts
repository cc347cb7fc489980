import { MASK } from '../../core/dead-letter/mask-text.ts'
import type { Masks } from '../../core/dead-letter/masks.ts'
import type { CommandTask } from '../../ports/commands.ts'
import type { PatchOperation } from '../../ports/replays.ts'
import type { Store } from '../../ports/store.ts'
import { type LetterValidity, NOT_STORED, VALIDITIES } from '../../runtime/fleet/letter-tasks.ts'
import { masksOfResend } from './payload-masks.ts'

/**
 * The result of a command for a reader. The reason why a letter is not valid can quote its payload, so the reason is masked
 * with what is hidden in that letter. Without the letter it is unknown which values are masked. The process may have another
 * version: an answer of another form cannot be masked, so it is left out.
 */
export async function maskedResult(
  result: unknown,
  { kind, patch }: CommandTask,
  { deadLetters }: Pick<Store, 'deadLetters'>,
  masks: Masks,
): Promise<unknown> {
  if (kind !== 'validate' || masks.hidesNothing === true) return result
  const { valid, invalid, unknown, letters } = (result ?? {}) as Readonly<Record<string, unknown>>
  if (!Array.isArray(letters) || !letters.every(isValidity)) return undefined
  const maskReason = async ({ id, reason }: LetterValidity): Promise<string | undefined> => {
    if (reason === undefined || reason === NOT_STORED) return reason
    const letter = await deadLetters.get(id)
    if (letter === undefined) return MASK
    return masksOfResend(letter, patch as readonly PatchOperation[] | undefined, masks).maskText(reason)
  }
  return {
    ...{ valid, invalid, unknown },
    letters: await Promise.all(
      letters.map(async ({ id, validity, reason }) => ({
        ...{ id, validity, reason: await maskReason({ id, validity, reason }) },
      })),
    ),
  }
}

function isValidity(value: unknown): value is LetterValidity {
  const { id, validity, reason } = (value ?? {}) as Readonly<Record<string, unknown>>
  const isKnown = VALIDITIES.some(each => each === validity)
  return typeof id === 'string' && isKnown && (reason === undefined || typeof reason === 'string')
}
