import type { LazaretEvent } from '../event/event.ts'
import { hasLeftOut } from './display-form.ts'
import { masksOfEvent, masksOfLetter } from './event-masks.ts'
import { NOTHING_HIDDEN } from './hidden-values.ts'
import type { DeadLetter } from './letter.ts'
import type { Masks } from './masks.ts'
import { storableEvent } from './storable-event.ts'

/** The event or the letter that an error is about, as far as they are known. */
export interface ErrorSubject {
  readonly event?: LazaretEvent | undefined
  readonly letter?: DeadLetter | undefined
}

/** The masks for the texts of an error. They also hide what is masked in its event or its letter. */
export function masksOfSubject({ event, letter }: ErrorSubject, masks: Masks): Masks {
  if (letter !== undefined) return masksOfLetter(letter, masks)
  if (event === undefined) return masks
  // Other clients pass messages with cycles and getters. Their stored form is plain data.
  const { event: stored, lost } = storableEvent(event)
  const isComplete = lost === undefined || !hasLeftOut(stored.payload)
  return masksOfEvent(stored, masks, { ...NOTHING_HIDDEN, isComplete })
}

/** More names than metrics have series. */
const MAX_KNOWN_NAMES = 1_000

/**
 * Masks the names of errors. A program may set any text as the name. Almost all names are those of classes, and collecting the
 * masked values of an event takes long. So a name that was shown unmasked once is not masked again: it is known already.
 */
export class ErrorNameMasker {
  readonly #masks: Masks
  readonly #shown = new Set<string>()

  constructor(masks: Masks) {
    this.#masks = masks
  }

  mask(name: string, subject: ErrorSubject): string {
    if (this.#shown.has(name)) return name
    const masked = masksOfSubject(subject, this.#masks).maskText(name)
    if (masked === name && this.#shown.size < MAX_KNOWN_NAMES) this.#shown.add(name)
    return masked
  }
}
