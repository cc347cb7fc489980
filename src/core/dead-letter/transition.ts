import { LazaretError } from '../failure/errors.ts'
import type { DeadLetter } from './letter.ts'
import { canTransition, type LetterState, TRANSITIONS } from './state.ts'

/**
 * The letter in its new state. Asking for the state it has returns it unchanged, so an operation may be repeated;
 * only a second replay is refused. Going to `replaying` counts the replay.
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

  /** `why` is for a change that the table allows, but not for this caller. */
  constructor(letter: DeadLetter, to: LetterState, why?: string) {
    const legal = Object.keys(TRANSITIONS[letter.state]).join(', ')
    const said = why ?? `cannot become ${to}; it can become ${legal}`
    super(`dead letter ${letter.id}: is ${letter.state}, ${said}`, {
      code: 'LAZARET_TRANSITION_ILLEGAL',
      retryable: false,
    })
    this.from = letter.state
    this.to = to
  }
}
