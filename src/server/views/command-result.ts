import { maskForDisplay } from '../../core/dead-letter/mask.ts'
import { MASK } from '../../core/dead-letter/mask-text.ts'
import type { Masks } from '../../core/dead-letter/masks.ts'
import { masksOfResend } from '../../operations/payload-masks.ts'
import { masksOfStoredLetters } from '../../operations/quoted-letters.ts'
import type { CommandOutcome, CommandTask } from '../../ports/commands.ts'
import type { PatchOperation } from '../../ports/replays.ts'
import type { Store } from '../../ports/store.ts'
import { type LetterValidity, NOT_STORED, VALIDITIES } from '../../runtime/fleet/letter-tasks.ts'

/** The outcome of a command for a reader. An error can quote any of the letters that the command is about. */
export async function maskedOutcome(
  outcome: CommandOutcome,
  task: CommandTask,
  store: Pick<Store, 'deadLetters' | 'replays'>,
  masks: Masks,
): Promise<CommandOutcome> {
  if (masks.hidesNothing === true) return outcome
  if (outcome.ok && task.kind === 'validate')
    return { ...outcome, result: await maskedResult(outcome.result, task, store, masks) }
  const patch = task['patch'] as readonly PatchOperation[] | undefined
  const own = await masksOfStoredLetters(store, await lettersOf(task, store), { patch }, masks)
  if (!outcome.ok) return { ...outcome, error: own.maskText(outcome.error) }
  if (outcome.result === undefined) return outcome
  return { ...outcome, result: maskForDisplay(outcome.result, { ...own, paths: [] }) }
}

/** The ids of the letters of a command: those that it names, or those at the positions of a replay. */
async function lettersOf(
  { letters, replay, positions }: CommandTask,
  { replays }: Pick<Store, 'replays'>,
): Promise<readonly string[]> {
  if (Array.isArray(letters)) return letters.map(String)
  if (typeof replay !== 'string' || !Array.isArray(positions) || positions.length === 0) return []
  const wanted = new Set(positions.map(Number))
  const first = Math.min(...wanted)
  const items = await replays.items(replay, { after: first - 1, limit: Math.max(...wanted) - first + 1 })
  return items.filter(({ position }) => wanted.has(position)).map(({ letterId }) => letterId)
}

/**
 * The result of a validation for a reader. The reason why a letter is not valid can quote its payload, so the reason is masked
 * with what is hidden in that letter. Without the letter it is unknown which values are masked. The process may have another
 * version: an answer of another form cannot be masked, so it is left out.
 */
async function maskedResult(
  result: unknown,
  { patch }: CommandTask,
  { deadLetters }: Pick<Store, 'deadLetters'>,
  masks: Masks,
): Promise<unknown> {
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
