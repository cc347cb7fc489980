import type { JsonValue } from '../event/event.ts'
import { masksOfEvent } from './event-masks.ts'
import type { DeadLetter } from './letter.ts'
import { maskForDisplay } from './mask.ts'
import { DEFAULT_MASKS, type Masks } from './masks.ts'

/**
 * A letter for display. Paths are taken from its event on, so that one mask serves events and letters; what they hide
 * there is hidden in every text about the event as well.
 */
export function maskLetter(
  letter: DeadLetter,
  masks: Masks = DEFAULT_MASKS,
): Readonly<Record<string, JsonValue>> {
  const { event, id, ...rest } = letter
  const ofTexts: Masks = { ...masksOfEvent(event, masks), paths: [] }
  return {
    id,
    ...(maskForDisplay(rest, ofTexts) as Readonly<Record<string, JsonValue>>),
    event: maskForDisplay(event, masks),
  }
}
