import { withAudit } from '../adapter-kit/with-audit.ts'
import { lastSendingOf } from '../core/dead-letter/change.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { LetterState } from '../core/dead-letter/state.ts'
import { TransitionError, transition } from '../core/dead-letter/transition.ts'
import type { ReplayState } from '../ports/replays.ts'
import type { Store } from '../ports/store.ts'
import { unconfirmedItems } from '../runtime/fleet/open-delivery.ts'
import { type Decision, entryOf } from './decision.ts'
import { KeyUnblocker } from './unblock-keys.ts'

/** The states that a person may take back. */
const REOPENED: readonly LetterState[] = ['parked', 'quarantined', 'discarded']
/** A replay in one of these states records no more outcomes for the letters that it sent. */
const OVER: readonly ReplayState[] = ['finished', 'cancelled']

/**
 * Records the decision that the event need not be handled. The letter stays visible, and events of the same key that wait
 * for it continue; `keys` knows those that do not. Resolves to undefined if the letter was deleted; rejects with
 * TransitionError if the state does not allow it.
 */
export async function discardLetter(
  store: Store,
  id: string,
  decision: Decision,
  keys: KeyUnblocker = new KeyUnblocker(store),
): Promise<DeadLetter | undefined> {
  const { at, by } = decision
  const letter = await store.deadLetters.get(id)
  if (letter === undefined) return undefined
  // A refused decision changes nothing, so it is not reported as a change.
  transition(letter, 'discarded', at)
  const discard = async () => {
    const discarded = await store.deadLetters.change(id, { to: 'discarded', at, by })
    if (discarded !== undefined) await keys.afterDiscard(discarded, decision)
    return discarded
  }
  return await withAudit(store.audit, entryOf('letter.discard', id, decision), discard, {
    shortfall: () => keys.shortfall(id),
  })
}

/**
 * Makes a parked, quarantined or discarded letter dead again, so that it can be replayed. It also accepts a letter that is
 * still replaying after its replay has ended or was deleted, unless a process of the fleet may still be sending the event. If
 * the event was handled after that, its letter would stay dead.
 */
export async function reopenLetter(
  store: Store,
  letter: DeadLetter,
  decision: Decision,
): Promise<DeadLetter | undefined> {
  const { id, state } = letter
  if (state === 'dead') return letter
  if (state === 'replaying') await requireReplayOver(store, letter, decision.at)
  else if (!REOPENED.includes(state))
    throw new TransitionError(letter, 'dead', `cannot be reopened; only ${REOPENED.join(' or ')} letters can`)
  const { at, by } = decision
  // Meanwhile the event may have failed again, and another replay may have sent it.
  const onlyIfSentBy = state === 'replaying' ? lastSendingOf(letter) : undefined
  return await withAudit(store.audit, entryOf('letter.reopen', id, decision), () =>
    store.deadLetters.change(id, { to: 'dead', from: state, at, by, onlyIfSentBy }),
  )
}

async function requireReplayOver(store: Store, letter: DeadLetter, now: number): Promise<void> {
  const replay = letter.replayId === undefined ? undefined : await store.replays.get(letter.replayId)
  if (replay === undefined) return
  const refuse = (why: string) => new TransitionError(letter, 'dead', `cannot be reopened; ${why}`)
  const { id, state } = replay
  if (!OVER.includes(state))
    throw refuse(`replay ${id} is ${state}: wait for its outcome, or cancel it first`)
  const { underWay } = await unconfirmedItems(store, id, now)
  if (underWay.some(({ letterId }) => letterId === letter.id))
    throw refuse(`a process may still be sending its event for replay ${id}: try again in a minute`)
}
