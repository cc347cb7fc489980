import { LazaretError } from '../failure/errors.ts'
import type { DeadLetter } from './letter.ts'
import { canTransition, type LetterState } from './state.ts'

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
    const said = why ?? `cannot become ${to}${remedyFor(letter.state, to)}`
    super(`dead letter ${letter.id} is ${letter.state} and ${said}`, {
      code: 'LAZARET_TRANSITION_ILLEGAL',
      retryable: false,
    })
    this.from = letter.state
    this.to = to
  }
}

const REOPEN_FIRST = "reopen it first with 'lazaret dlq reopen'"
const IN_A_REPLAY = `wait for the outcome of its replay; when the replay has ended without one, ${REOPEN_FIRST}`

/**
 * What a person can do by command. The message does not list the other changes of the table, because they follow from
 * events and no command makes them.
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

function remedyFor(from: LetterState, to: LetterState): string {
  const remedy = REMEDIES[from]?.[to]
  return remedy === undefined ? '' : `; ${remedy}`
}
