import { allCycles } from '../../core/dead-letter/cycles.ts'
import type { AttemptFailure, AttemptRecord, Cycle, DeadLetter } from '../../core/dead-letter/letter.ts'
import type { Masks } from '../../core/dead-letter/masks.ts'
import { reasonText } from '../../core/dead-letter/reason.ts'
import type { Attempt, Cycle as CycleOutside, Failure } from '../schema/letters.ts'
import { iso, isoOr } from './times.ts'

/** Oldest first, the current one last. `masks` are those for texts about the letter's event. */
export function cyclesView(letter: DeadLetter, masks: Masks): CycleOutside[] {
  return allCycles(letter).map(cycle => cycleView(cycle, masks))
}

function cycleView(cycle: Cycle, masks: Masks): CycleOutside {
  const { number, reason, category, failure, attempts, attemptCount, replayId, replayedBy } = cycle
  return {
    number,
    reason,
    reasonText: reasonText(reason),
    category,
    failure: failure && failureView({ ...failure, fingerprint: failure.fingerprint.id }, masks),
    attempts: attempts.map(attempt => attemptView(attempt, masks)),
    attemptCount,
    firstFailedAt: iso(cycle.firstFailedAt),
    lastFailedAt: iso(cycle.lastFailedAt),
    replayId,
    replayedBy,
    endedAt: isoOr(cycle.endedAt),
  }
}

function attemptView(attempt: AttemptRecord, masks: Masks): Attempt {
  const { number, startedAt, endedAt, failure, delayMs } = attempt
  return {
    number,
    startedAt: iso(startedAt),
    endedAt: isoOr(endedAt),
    failure: failure && failureView(failure, masks),
    delayMs,
  }
}

function failureView(failure: AttemptFailure, masks: Masks): Failure {
  const { name, message, code, category, fingerprint, stack } = failure
  return {
    name: masks.maskText(name),
    message: masks.maskText(message),
    code: code === undefined ? undefined : masks.maskText(code),
    category,
    fingerprint,
    stack: stack === undefined ? undefined : masks.maskText(stack),
  }
}
