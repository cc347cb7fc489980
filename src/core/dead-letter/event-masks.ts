import type { LazaretEvent } from '../event/event.ts'
import { normalise } from '../failure/normalise.ts'
import { type Grouping, groupingOf } from './group.ts'
import { type HiddenValues, hiddenValues, hideIn, joinHidden, NOTHING_HIDDEN } from './hidden-values.ts'
import type { DeadLetter } from './letter.ts'
import type { Masks } from './masks.ts'

/**
 * The masks for texts that speak of an event: errors, stacks, keys, titles. They hide what masks hide by its looks, and
 * also every value that masks hide by its place in the event, because an error often quotes what it was given. They are
 * for texts about the event; the event itself is shown by the masks as they are. `more` is hidden as well.
 */
export function masksOfEvent(
  event: LazaretEvent | undefined,
  masks: Masks,
  more: HiddenValues = NOTHING_HIDDEN,
): Masks {
  if (masks.hidesNothing === true) return masks
  let hidden: HiddenValues | undefined
  return {
    ...masks,
    isMaskedName: name => masks.isMaskedName(name),
    maskText(text) {
      hidden ??= joinHidden(event === undefined ? NOTHING_HIDDEN : hiddenValues(event, masks), more)
      return hideIn(text, hidden, masks)
    },
  }
}

/** The group of a letter as it may be shown. A title and a basis are made of an error, so they quote what it quotes. */
export function groupingForDisplay(letter: DeadLetter, masks: Masks): Grouping {
  const own = masksOfEvent(letter.event, masks)
  const { failure } = letter.cycle
  const { id, rule, basis } = groupingOf(letter)
  if (failure === undefined) return { ...groupingOf(letter), basis: own.maskText(basis) }
  const name = own.maskText(failure.name)
  const message = own.maskText(failure.message)
  // Masked before it is cut: half of a value would be recognised no more.
  const masked = { ...letter, cycle: { ...letter.cycle, failure: { ...failure, name, message } } }
  const { title } = groupingOf(masked)
  // A normalised message has values in another form, so it is built again from the masked text.
  const isAltered = rule !== 'explicit' && message !== failure.message && basis.includes(': ')
  return { id, rule, title, basis: isAltered ? `${name}: ${normalise(message)}` : own.maskText(basis) }
}
