import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { LetterState } from '../core/dead-letter/state.ts'
import { TransitionError } from '../core/dead-letter/state.ts'
import type { ReplayState } from '../ports/replays.ts'
import type { Store } from '../ports/store.ts'

/** Who decides, when and why. */
export interface Decision {
  readonly by: string
  readonly at: number
  readonly note?: string | undefined
}

/** From where a person may take a decision back. */
const REOPENED: readonly LetterState[] = ['parked', 'quarantined', 'discarded']
/** A replay that is over tells nothing more of the letters it had sent. */
const OVER: readonly ReplayState[] = ['finished', 'cancelled']

/**
 * Decides that the event need not be handled. The letter stays to be seen; events of the same key that wait behind it
 * go on. Answers undefined when the letter has gone meanwhile; rejects with TransitionError when it cannot be.
 */
export async function discardLetter(
  store: Store,
  id: string,
  decision: Decision,
): Promise<DeadLetter | undefined> {
  const letter = await store.deadLetters.change(id, { to: 'discarded', at: decision.at, by: decision.by })
  if (letter === undefined) return undefined
  await store.broker?.letGo(letter.channel, letter.event.id, letter.handler)
  await append(store, 'letter.discard', id, decision)
  return letter
}

/**
 * Takes back that it was parked, quarantined or discarded: it can be replayed again. So can one that is still replaying
 * when its replay is over or gone: whether its event was ever sent, nobody will tell.
 */
export async function reopenLetter(
  store: Store,
  letter: DeadLetter,
  decision: Decision,
): Promise<DeadLetter | undefined> {
  const { id, state } = letter
  if (state === 'dead') return letter
  if (state === 'replaying') await requireReplayOver(store, letter)
  else if (!REOPENED.includes(state))
    throw new TransitionError(letter, 'dead', `cannot be reopened; what is ${REOPENED.join(' or ')} can be`)
  const reopened = await store.deadLetters.change(id, {
    to: 'dead',
    from: state,
    at: decision.at,
    by: decision.by,
  })
  if (reopened !== undefined) await append(store, 'letter.reopen', id, decision)
  return reopened
}

async function requireReplayOver({ replays }: Store, letter: DeadLetter): Promise<void> {
  const replay = letter.replayId === undefined ? undefined : await replays.get(letter.replayId)
  if (replay === undefined || OVER.includes(replay.state)) return
  const why = `cannot be reopened; replay ${replay.id} is ${replay.state}: wait for its outcome, or cancel it first`
  throw new TransitionError(letter, 'dead', why)
}

async function append(
  store: Store,
  action: string,
  target: string,
  { at, by, note }: Decision,
): Promise<void> {
  await store.audit.append({ at, by, action, target, ...(note === undefined ? {} : { detail: { note } }) })
}
