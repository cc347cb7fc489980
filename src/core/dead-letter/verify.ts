import { replayOf } from '../event/replay-headers.ts'
import { isSentBy, type LetterReplay } from './change.ts'
import { allCycles } from './cycles.ts'
import type { Cycle, DeadLetter } from './letter.ts'
import { stateAfterFailure } from './state.ts'

/**
 * Whether the letter was sent by this replay last, or may have been before: an older replay that comes back must not take
 * the letter from the one under way.
 */
export function isKnownReplay(letter: DeadLetter | undefined, claim: LetterReplay): boolean {
  if (letter === undefined || letter.event.id !== claim.eventId) return false
  return claim.attempt < letter.replays || isSentBy(letter, claim)
}

export function isVerified(letter: DeadLetter): boolean {
  return allCycles(letter).every(({ isUnverified }) => !isUnverified)
}

/**
 * What was told of a letter while nobody could read it, as it is to be saved: a replay that the letter knows is a cycle of
 * its own. What only says that it is one has failed as the plain event. `known` finds the letter that the replay is of: of a
 * redirected replay it is another one.
 */
export async function verified(
  letter: DeadLetter,
  known: (id: string) => Promise<DeadLetter | undefined>,
): Promise<readonly DeadLetter[]> {
  const replay = replayOf(letter.event)
  const isRedirected = replay !== undefined && replay.handler === undefined
  const other = isRedirected ? replay.letterId : undefined
  const found = await known(other ?? letter.id)
  // A spill makes one letter of all that it is told of an event. Each cycle has to be judged on its own.
  return allCycles(letter).map(cycle => {
    const { number: attempt, replayId } = cycle
    const isKnown =
      !cycle.isUnverified || isKnownReplay(found, { eventId: letter.event.id, replayId, attempt })
    return toldAlone(letter, isKnown ? cycle : { ...cycle, number: 0, replayId: undefined })
  })
}

function toldAlone(letter: DeadLetter, { isUnverified: _, ...cycle }: Cycle): DeadLetter {
  const { number, reason, lastFailedAt, replayId } = cycle
  const isLast = lastFailedAt >= letter.cycle.lastFailedAt
  return {
    ...letter,
    state: stateAfterFailure(reason, number),
    cycle: { ...cycle, endedAt: undefined },
    endedCycles: [],
    droppedCycles: 0,
    replays: number,
    replayId,
    updatedAt: isLast ? letter.updatedAt : lastFailedAt,
  }
}
