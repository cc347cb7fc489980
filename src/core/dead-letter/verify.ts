import { replayOf } from '../event/replay-headers.ts'
import { isSentBy, type LetterReplay } from './change.ts'
import { allCycles } from './cycles.ts'
import type { Cycle, DeadLetter } from './letter.ts'
import { stateAfterFailure } from './state.ts'

/**
 * Whether this replay sent the letter last, or is one of its recorded cycles. Every publisher can write any number into
 * the headers, so an earlier replay counts only with the id of its cycle.
 */
export function isKnownReplay(letter: DeadLetter | undefined, claim: LetterReplay): boolean {
  if (letter === undefined || letter.event.id !== claim.eventId) return false
  const { attempt, replayId } = claim
  return (
    isSentBy(letter, claim) ||
    allCycles(letter).some(cycle => cycle.number === attempt && attempt > 0 && cycle.replayId === replayId)
  )
}

export function isVerified(letter: DeadLetter): boolean {
  return !letter.cycle.isUnverified && letter.endedCycles.every(({ isUnverified }) => !isUnverified)
}

/**
 * Checks the replay claims of a letter that was written while its store was unreachable, and returns the letters to save.
 * A claim that the stored letter confirms becomes the cycle of that replay. Every other claim counts as a failure of the
 * plain event, because anyone who can publish can forge replay headers. `known` finds the stored letter; a redirected
 * replay belongs to another letter.
 */
export async function splitVerified(
  letter: DeadLetter,
  known: (id: string) => Promise<DeadLetter | undefined>,
): Promise<readonly DeadLetter[]> {
  const replay = replayOf(letter.event)
  const isRedirected = replay !== undefined && replay.handler === undefined
  const other = isRedirected ? replay.letterId : undefined
  const found = await known(other ?? letter.id)
  // A spill merges all failures of an event into one letter, so each cycle is checked on its own.
  return allCycles(letter).map(cycle => {
    if (!cycle.isUnverified) return letterOfCycle(letter, cycle)
    const claim = knownClaim(found, letter.event.id, cycle)
    return letterOfCycle(letter, { ...cycle, ...(claim ?? { number: 0, replayId: undefined }) })
  })
}

/** The claimed replay id that the letter confirms. The id of the latest replay is preferred. */
function knownClaim(
  letter: DeadLetter | undefined,
  eventId: string,
  { number: attempt, replayId, otherReplayIds = [] }: Cycle,
): Pick<Cycle, 'number' | 'replayId'> | undefined {
  const claims = [replayId, ...otherReplayIds].map(each => ({ eventId, replayId: each, attempt }))
  const known = claims.filter(claim => isKnownReplay(letter, claim))
  const real = known.find(claim => letter !== undefined && isSentBy(letter, claim)) ?? known[0]
  return real && { number: attempt, replayId: real.replayId }
}

function letterOfCycle(letter: DeadLetter, told: Cycle): DeadLetter {
  const { isUnverified: _, otherReplayIds: __, ...cycle } = told
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
