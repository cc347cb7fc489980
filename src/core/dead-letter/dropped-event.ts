import type { LazaretEvent } from '../event/event.ts'
import { allValues, type HiddenValues } from './hidden-values.ts'
import type { AttemptFailure, Cycle, DeadLetter } from './letter.ts'
import { createMasks } from './masks.ts'
import { TextMasker } from './text-masker.ts'

const NO_MASKS = createMasks({ defaults: false })
/** Shorter values are words that occur everywhere. */
const MIN_LENGTH = 4

/**
 * Hides in the errors of a letter the values that only its own event has, before a merge keeps another event. Two events with
 * one id should be equal. If they are not, nobody could tell later which values in the errors of the dropped one are
 * masked. The cycle of a replay stays whole: its replay knows how the payload was edited.
 */
export function withoutDroppedValues(letter: DeadLetter, kept: LazaretEvent): DeadLetter {
  if (contentOf(letter.event) === contentOf(kept)) return letter
  const dropped = onlyIn(letter.event, kept)
  if (dropped.isComplete && dropped.values.length === 0) return letter
  const masker = new TextMasker(dropped, NO_MASKS)
  const hide = (text: string) => masker.mask(text)
  const ofCycle = (cycle: Cycle) => (cycle.replayId === undefined ? hideInCycle(cycle, hide) : cycle)
  return { ...letter, cycle: ofCycle(letter.cycle), endedCycles: letter.endedCycles.map(ofCycle) }
}

type HideText = (text: string) => string

function hideInCycle(cycle: Cycle, hide: HideText): Cycle {
  const { failure, attempts } = cycle
  return {
    ...cycle,
    failure: failure && {
      ...hideInFailure(failure, hide),
      fingerprint: { ...failure.fingerprint, basis: hide(failure.fingerprint.basis) },
    },
    attempts: attempts.map(attempt => ({
      ...attempt,
      failure: attempt.failure && hideInFailure(attempt.failure, hide),
    })),
  }
}

function hideInFailure<F extends Pick<AttemptFailure, 'message' | 'stack'>>(failure: F, hide: HideText): F {
  const { message, stack } = failure
  return { ...failure, message: hide(message), ...(stack === undefined ? {} : { stack: hide(stack) }) }
}

function onlyIn(dropped: LazaretEvent, kept: LazaretEvent): HiddenValues {
  const known = new Set(valuesOf(kept).values)
  const { values, isComplete } = valuesOf(dropped)
  return {
    otherTexts: [],
    values: values.filter(value => value.length >= MIN_LENGTH && !known.has(value)),
    isComplete,
  }
}

function valuesOf({ payload, headers, key }: LazaretEvent): HiddenValues {
  return allValues({ payload, headers, key }, NO_MASKS)
}

function contentOf({ payload, headers, key }: LazaretEvent): string {
  return JSON.stringify([payload, headers, key])
}
