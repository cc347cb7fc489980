import { hiddenInLetter, masksOfEvent } from '../core/dead-letter/event-masks.ts'
import { joinHidden } from '../core/dead-letter/hidden-values.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import { MASK } from '../core/dead-letter/mask-text.ts'
import type { Masks } from '../core/dead-letter/masks.ts'
import type { Replay } from '../ports/replays.ts'
import type { Store } from '../ports/store.ts'
import { hiddenInPatch } from './payload-masks.ts'

/** More letters are not read for one text. Then the error that the text quotes is hidden whole. */
export const MAX_QUOTED_LETTERS = 200
/** Our own texts quote an error after a colon. */
const BEFORE_ERROR = ': '

type LetterStore = Pick<Store, 'deadLetters'>
type Patched = Pick<Replay, 'patch'>

/**
 * The masks for a text that may quote any of several letters, or values of the patch. If a letter is missing, it is unknown
 * which values are masked. Then the masks hide the error in the text, and keep what precedes it.
 */
export function masksOfLetters(
  letters: readonly (DeadLetter | undefined)[],
  { patch }: Patched,
  masks: Masks,
): Masks {
  if (masks.hidesNothing === true) return masks
  const known = letters.filter(letter => letter !== undefined)
  const hidden = joinHidden(
    ...known.map(letter => hiddenInLetter(letter, masks)),
    hiddenInPatch(patch, masks),
  )
  const own = masksOfEvent(undefined, masks, hidden)
  if (known.length === letters.length) return own
  return { ...own, maskText: text => own.maskText(withoutError(text)) }
}

/** Whether a text of ours quotes an error. Without one it quotes no letter. */
export function quotesError(text: string): boolean {
  return text.includes(BEFORE_ERROR)
}

function withoutError(text: string): string {
  const at = text.indexOf(BEFORE_ERROR)
  return at < 0 ? text : `${text.slice(0, at)}${BEFORE_ERROR}${MASK}`
}

/** The masks for a text about the letters with these ids. */
export async function masksOfStoredLetters(
  { deadLetters }: LetterStore,
  ids: readonly string[],
  replay: Patched,
  masks: Masks,
): Promise<Masks> {
  if (masks.hidesNothing === true) return masks
  const read = ids.slice(0, MAX_QUOTED_LETTERS).map(id => deadLetters.get(id))
  const unread = ids.length > MAX_QUOTED_LETTERS ? [undefined] : []
  return masksOfLetters([...(await Promise.all(read)), ...unread], replay, masks)
}
