import type { JsonValue, LazaretEvent } from '../event/event.ts'
import { withNumberTexts } from '../event/exact-numbers.ts'
import { masksOfLetter } from './event-masks.ts'
import type { DeadLetter } from './letter.ts'
import { maskForDisplay } from './mask.ts'
import { MASK } from './mask-text.ts'
import { DEFAULT_MASKS, type Masks } from './masks.ts'
import { masksOfMoved } from './moved-masks.ts'

/**
 * Masks a letter for display. Paths begin at the event, so that one mask fits events and letters; the detail and the metadata
 * of the letter count as fields of its event. The values that the masks hide there are also hidden in every text about the
 * event.
 */
export function maskLetter(
  letter: DeadLetter,
  masks: Masks = DEFAULT_MASKS,
): Readonly<Record<string, JsonValue>> {
  const { event, id, detail, metadata, ...rest } = letter
  const own = masksOfLetter(letter, masks)
  return {
    id,
    ...(maskForDisplay(rest, { ...own, paths: [] }) as Facts),
    ...(detail && { detail: maskFacts('detail', detail, own) }),
    ...(metadata && { metadata: maskFacts('metadata', metadata, own) }),
    event: maskEvent(event, masks, own),
  }
}

/**
 * Masks an event for display. `own` are the masks for texts about it: a key often repeats a value of the payload, and a header
 * can hold the error of another system.
 */
export function maskEvent(event: LazaretEvent, masks: Masks, own: Masks): Facts {
  const shown = maskForDisplay(withNumberTexts(event), masksOfMoved(event, masks))
  // A path may hide the whole event.
  if (shown === MASK) return { headers: {}, payload: MASK }
  const { key, idempotencyKey, source, headers } = event
  const texts = maskForDisplay({ key, idempotencyKey, source, headers }, own)
  return { ...(shown as Facts), ...(texts as Facts) }
}

/** Masks the detail or the metadata of a letter for display. `own` are the masks for texts about its event. */
export function maskFacts(name: 'detail' | 'metadata', facts: Facts, own: Masks): Facts {
  const shown = (maskForDisplay({ [name]: facts }, own) as Facts)[name]
  // A mask may hide all of them.
  return typeof shown === 'object' && shown !== null ? (shown as Facts) : {}
}

type Facts = Readonly<Record<string, JsonValue>>
