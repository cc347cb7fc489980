import { quarantines, type Reason } from './reason.ts'

/**
 * - `dead`: waits for a decision or a replay.
 * - `quarantined`: must not be replayed unchanged, because it is poison.
 * - `replaying`: a replay sent its event, and the outcome is not known yet.
 * - `parked`: was replayed as often as allowed; replays skip it until a person reopens it.
 * - `resolved`: its event was handled after all.
 * - `discarded`: a person decided that its event need not be handled.
 */
export const LETTER_STATES = ['dead', 'quarantined', 'replaying', 'parked', 'resolved', 'discarded'] as const

/** The state of a dead letter: `dead`, `quarantined`, `replaying`, `parked`, `resolved` or `discarded`. */
export type LetterState = (typeof LETTER_STATES)[number]

/** The number of replays after which a letter is parked. */
export const DEFAULT_REPLAY_LIMIT = 3

const FAILED_AGAIN = 'the event failed again after the letter was closed: it reopens'
const FAILED_AS_POISON = 'the event failed again, and as poison'
const FAILED_TOO_OFTEN = 'the event failed again, and was replayed as often as allowed'
const HANDLED = 'the event was handled after all'
const DISCARDED = 'a person decided that the event need not be handled'

/**
 * Every legal change of state, and its cause. All other changes are illegal, above all two: `replaying` to `replaying`,
 * because two replays at once would handle one event twice, and `parked` to `replaying`, because parking prevents
 * replays.
 */
export const TRANSITIONS: Readonly<Record<LetterState, Readonly<Partial<Record<LetterState, string>>>>> = {
  dead: {
    quarantined: 'the event proved to be poison',
    replaying: 'a replay sent the event again',
    parked: 'it was replayed as often as allowed, or a person set it aside',
    resolved: HANDLED,
    discarded: DISCARDED,
  },
  quarantined: {
    dead: 'a person released it because the cause is fixed',
    replaying: 'a replay sent the event again, edited or with the cause fixed',
    parked: 'a person set it aside',
    resolved: HANDLED,
    discarded: DISCARDED,
  },
  replaying: {
    dead: 'the event failed again, or its replay ended and nothing came of it',
    quarantined: FAILED_AS_POISON,
    parked: FAILED_TOO_OFTEN,
    resolved: HANDLED,
  },
  parked: {
    dead: 'a person lifted it out, allowing replays again',
    quarantined: 'the event proved to be poison',
    resolved: HANDLED,
    discarded: DISCARDED,
  },
  resolved: { dead: FAILED_AGAIN, quarantined: FAILED_AS_POISON, parked: FAILED_TOO_OFTEN },
  discarded: {
    dead: `${FAILED_AGAIN}, or a person took the decision back`,
    quarantined: FAILED_AS_POISON,
    parked: FAILED_TOO_OFTEN,
    resolved: HANDLED,
  },
}

export function isLetterState(value: unknown): value is LetterState {
  return LETTER_STATES.some(state => state === value)
}

/** Whether the letter waits for a decision or a replay: dead, quarantined or parked. */
export function isHeld(state: LetterState): boolean {
  return state === 'dead' || state === 'quarantined' || state === 'parked'
}

/** The states of letters that wait for a decision or a replay. */
export const WAITING_STATES: readonly LetterState[] = LETTER_STATES.filter(isHeld)

/** The number of letters that wait for a decision or a replay. */
export function countWaiting(byState: Readonly<Partial<Record<LetterState, number>>>): number {
  return WAITING_STATES.reduce((sum, state) => sum + (byState[state] ?? 0), 0)
}

export function canTransition(from: LetterState, to: LetterState): boolean {
  return Object.hasOwn(TRANSITIONS[from], to)
}

/** The state of a letter when its event fails after this number of replays. */
export function stateAfterFailure(
  reason: Reason,
  replays: number,
  replayLimit = DEFAULT_REPLAY_LIMIT,
): LetterState {
  if (quarantines(reason)) return 'quarantined'
  return replays >= replayLimit ? 'parked' : 'dead'
}
