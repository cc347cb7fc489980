import { withAudit } from '../adapter-kit/with-audit.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { LetterState } from '../core/dead-letter/state.ts'
import { TransitionError, transition } from '../core/dead-letter/transition.ts'
import type { AuditEntry } from '../ports/audit.ts'
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
  const { at, by } = decision
  const letter = await store.deadLetters.get(id)
  if (letter === undefined) return undefined
  // A refused decision changes nothing, so it is not reported as a change.
  transition(letter, 'discarded', at)
  return await withAudit(store.audit, entryOf('letter.discard', id, decision), async () => {
    const discarded = await store.deadLetters.change(id, { to: 'discarded', at, by })
    if (discarded !== undefined)
      await store.broker?.unblockKey(discarded.channel, discarded.event.id, discarded.handler)
    return discarded
  })
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
    throw new TransitionError(letter, 'dead', `cannot be reopened; only ${REOPENED.join(' or ')} letters can`)
  const { at, by } = decision
  return await withAudit(store.audit, entryOf('letter.reopen', id, decision), () =>
    store.deadLetters.change(id, { to: 'dead', from: state, at, by }),
  )
}

async function requireReplayOver({ replays }: Store, letter: DeadLetter): Promise<void> {
  const replay = letter.replayId === undefined ? undefined : await replays.get(letter.replayId)
  if (replay === undefined || OVER.includes(replay.state)) return
  const why = `cannot be reopened; replay ${replay.id} is ${replay.state}: wait for its outcome, or cancel it first`
  throw new TransitionError(letter, 'dead', why)
}

function entryOf(action: string, target: string, { at, by, note }: Decision): AuditEntry {
  return { at, by, action, target, ...(note === undefined ? {} : { detail: { note } }) }
}
