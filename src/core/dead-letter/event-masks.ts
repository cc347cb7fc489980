import type { LazaretEvent } from '../event/event.ts'
import { isJsonBytes, withNumberTexts } from '../event/exact-numbers.ts'
import { normalise } from '../failure/normalise.ts'
import { hasLeftOut } from './display-form.ts'
import { type Grouping, groupingOf } from './group.ts'
import { type HiddenValues, hiddenValues, joinHidden, NOTHING_HIDDEN } from './hidden-values.ts'
import type { DeadLetter } from './letter.ts'
import type { Masks } from './masks.ts'
import { masksOfMoved } from './moved-masks.ts'
import { notReplayable } from './storable-event.ts'
import { TextMasker } from './text-masker.ts'

/**
 * The masks for texts about an event: errors, stacks, keys, titles. They hide secrets by their form, and every value that
 * the masks hide in the event, because errors often quote their input. They also hide `more`. They are not for the event
 * itself: the plain masks do that.
 */
export function masksOfEvent(
  event: LazaretEvent | undefined,
  masks: Masks,
  more: HiddenValues = NOTHING_HIDDEN,
): Masks {
  return masksOfTexts(masks, () =>
    joinHidden(event === undefined ? NOTHING_HIDDEN : hiddenInEvent(event, event, masks), more),
  )
}

/** Masks that know which masked values replays wrote into the payload of a letter. */
export interface MasksOfReplays extends Masks {
  hiddenByReplays(letter: DeadLetter): HiddenValues
}

/**
 * The masks for texts about a letter. They also hide what is masked in its metadata and its detail, and what `MasksOfReplays`
 * know.
 */
export function masksOfLetter(letter: MaskedParts, masks: Masks, more: HiddenValues = NOTHING_HIDDEN): Masks {
  return masksOfTexts(masks, () => joinHidden(hiddenInLetter(letter, masks), more))
}

type MaskedParts = DeadLetter | Pick<DeadLetter, 'event' | 'metadata'>

/** The values that the masks hide in the event, the detail and the metadata of a letter. */
export function hiddenInLetter(letter: MaskedParts, masks: Masks): HiddenValues {
  const { event, metadata } = letter
  if (!('cycle' in letter)) return hiddenInEvent(event, { ...event, metadata }, masks)
  const hidden = hiddenInEvent(event, { ...event, metadata, detail: letter.detail }, masks)
  const written = (masks as Partial<MasksOfReplays>).hiddenByReplays?.(letter) ?? NOTHING_HIDDEN
  // An error may quote a value that the letter does not have.
  const isComplete = notReplayable(letter) === undefined || !hasLeftOut(event.payload)
  return joinHidden(hidden, written, { ...NOTHING_HIDDEN, isComplete })
}

/** The values that the masks hide in a form of the event. Errors quote large numbers as they were sent, or as JavaScript rounds them. */
function hiddenInEvent(event: LazaretEvent, form: object, masks: Masks): HiddenValues {
  const own = masksOfMoved(event, masks)
  const hidden = hiddenValues(form, own)
  if (!isJsonBytes(event)) return hidden
  return joinHidden(hidden, hiddenValues({ ...form, payload: withNumberTexts(event).payload }, own))
}

/** Collects the values when the first text needs them. */
function masksOfTexts(masks: Masks, collect: () => HiddenValues): Masks {
  if (masks.hidesNothing === true) return masks
  let masker: TextMasker | undefined
  return {
    ...masks,
    isMaskedName: name => masks.isMaskedName(name),
    maskText(text) {
      masker ??= new TextMasker(collect(), masks)
      return masker.mask(text)
    },
  }
}

/** The group of a letter for display. Its title and basis come from an error, so they may quote masked values. */
export function groupingForDisplay(letter: DeadLetter, masks: Masks): Grouping {
  const own = masksOfLetter(letter, masks)
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
  return { id, rule, title, basis: isAltered ? `${name}: ${normalise(message)}` : maskBasis(letter, masks) }
}

/** The basis may quote an error that the message does not, such as the cause, and quotes it normalised. */
function maskBasis(letter: DeadLetter, masks: Masks): string {
  const { basis } = groupingOf(letter)
  if (masks.hidesNothing === true) return basis
  const hidden = hiddenInLetter(letter, masks)
  const normalised = hidden.values
    .map(normalise)
    .filter(text => HAS_LETTERS.test(text) && !STANDS_FOR_ANY.test(text))
  return new TextMasker({ ...hidden, values: [...hidden.values, ...normalised] }, masks).mask(basis)
}

/** Normalised values such as `#` and `<email>` stand for many values. */
const HAS_LETTERS = /\p{L}{3}/u
const STANDS_FOR_ANY = /^<\w+>$/
