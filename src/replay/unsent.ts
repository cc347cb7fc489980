import { quarantines } from '../core/dead-letter/reason.ts'
import type { Clock } from '../ports/clock.ts'
import type { Store } from '../ports/store.ts'

/** A runner takes the waiting in their order, a few at a time, so what it died with is among the first. */
const LOOK_AT_MOST = 100

/**
 * Gives back what a cancelled replay took and did not send: a runner that ended between the two leaves a letter that
 * is `replaying` while its item waits. To be called once the replay is cancelled, because a runner that lives looks at
 * that after it wrote down what it is about to send, and then does not send it.
 */
export async function giveBackUnsent(store: Store, id: string, clock: Clock): Promise<void> {
  const { replays, deadLetters } = store
  for (const { letterId } of await replays.items(id, { status: 'waiting', limit: LOOK_AT_MOST })) {
    const letter = await deadLetters.get(letterId)
    if (letter?.state !== 'replaying' || letter.replayId !== id) continue
    const to = quarantines(letter.cycle.reason) ? 'quarantined' : 'dead'
    await deadLetters.change(letterId, { to, from: 'replaying', at: clock.now() })
  }
}
