import { LazaretError } from '../failure/errors.ts'
import type { DeadLetter } from './letter.ts'
import { canTransition, type LetterState } from './state.ts'

/**
 * Returns the letter in its new state. A change to the current state returns the letter unchanged, so that operations can be
 * repeated; only a second replay is refused. A change to `replaying` counts the replay.
 */
export function transition(letter: DeadLetter, to: LetterState, at: number, replayId?: string): DeadLetter {
  if (letter.state === to && to !== 'replaying') return letter
  if (!canTransition(letter.state, to)) throw new TransitionError(letter, to)
  return {
    ...letter,
    state: to,
    replays: to === 'replaying' ? letter.replays + 1 : letter.replays,
    replayId: to === 'replaying' ? replayId : letter.replayId,
    updatedAt: Math.max(letter.updatedAt, at),
  }
}

/** A letter cannot change from its state to the requested one. */
export class TransitionError extends LazaretError {
  override readonly name = 'TransitionError'
  readonly from: LetterState
  readonly to: LetterState
  /** Reopening the letter makes the change possible. Programs add how their users reopen a letter. */
  readonly needsReopening: boolean

  /** `reason` is for a change that the table allows, but not for this caller. */
  constructor(letter: DeadLetter, to: LetterState, reason?: string) {
    const remedy = reason === undefined ? REMEDIES[letter.state]?.[to] : undefined
    const problem = reason ?? `cannot become ${to}${remedy === undefined ? '' : `; ${remedy}`}`
    super(`dead letter ${letter.id} is ${letter.state} and ${problem}`, {
      code: 'LAZARET_TRANSITION_ILLEGAL',
      retryable: false,
    })
    this.from = letter.state
    this.to = to
    this.needsReopening = remedy === REOPEN_FIRST || remedy === IN_A_REPLAY
  }
}

const REOPEN_FIRST = 'reopen it first'
const IN_A_REPLAY = `wait for the outcome of its replay; if the replay ended without one, ${REOPEN_FIRST}`

/**
 * What a person can do instead of a change that people ask for. The other changes have no remedy, because only events
 * cause them.
 */
const REMEDIES: Partial<Record<LetterState, Partial<Record<LetterState, string>>>> = {
  replaying: { discarded: IN_A_REPLAY, replaying: IN_A_REPLAY },
  parked: { replaying: REOPEN_FIRST },
  resolved: {
    discarded: 'its event was handled; nothing is left to discard',
    replaying: 'its event was handled; nothing is left to replay',
  },
  discarded: { replaying: REOPEN_FIRST },
}
