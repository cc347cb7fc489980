import type { JsonValue } from '../event/event.ts'
import { masksOfEvent } from './event-masks.ts'
import type { DeadLetter } from './letter.ts'
import { maskForDisplay } from './mask.ts'
import { DEFAULT_MASKS, type Masks } from './masks.ts'

/**
 * Masks a letter for display. Paths begin at the event, so that one mask fits events and letters. The values that they
 * hide in the event are also hidden in every text about the event.
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

/**
 * Masks the detail or the metadata of a letter for display. `own` are the masks for texts about its event: paths begin at
 * the event, so only names and patterns apply here.
 */
export function maskFacts(facts: Facts | undefined, own: Masks): Facts | undefined {
  return facts && (maskForDisplay(facts, { ...own, paths: [] }) as Facts)
}

type Facts = Readonly<Record<string, JsonValue>>
