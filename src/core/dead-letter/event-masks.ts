import type { LazaretEvent } from '../event/event.ts'
import { normalise } from '../failure/normalise.ts'
import { type Grouping, groupingOf } from './group.ts'
import { type HiddenValues, hiddenValues, hideIn, joinHidden, NOTHING_HIDDEN } from './hidden-values.ts'
import type { DeadLetter } from './letter.ts'
import type { Masks } from './masks.ts'

/**
 * The masks for texts about an event: errors, stacks, keys, titles. They hide secrets by their form, and every value that
 * the masks hide in the event by path or name, because errors often quote their input. They also hide `more`. They are
 * not for the event itself: the plain masks do that.
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

/** The group of a letter for display. Its title and basis come from an error, so they may quote masked values. */
export function groupingForDisplay(letter: DeadLetter, masks: Masks): Grouping {
  const own = masksOfEvent(letter.event, masks)
  const { failure } = letter.cycle
  const { id, rule, basis } = groupingOf(letter)
  if (failure === undefined) return { ...groupingOf(letter), basis: own.maskText(basis) }
  const name = own.maskText(failure.name)
  const message = own.maskText(failure.message)
  // The text is masked before it is cut, because the masks do not recognise half of a value.
  const masked = { ...letter, cycle: { ...letter.cycle, failure: { ...failure, name, message } } }
  const { title } = groupingOf(masked)
  // A normalised message has values in another form, so it is built again from the masked text.
  const isAltered = rule !== 'explicit' && message !== failure.message && basis.includes(': ')
  return { id, rule, title, basis: isAltered ? `${name}: ${normalise(message)}` : own.maskText(basis) }
}
