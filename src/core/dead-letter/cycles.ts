import { keepFirstAndLatest, type LetterCaps } from './caps.ts'
import type { AttemptRecord, Cycle, DeadLetter, EveryField } from './letter.ts'
import { quarantines } from './reason.ts'

/** The limit on replay ids of an unverified cycle. Forged ids can only displace other ids that nobody could verify. */
const MAX_CLAIMED_REPLAY_IDS = 100

interface Cycles {
  readonly cycle: Cycle
  readonly endedCycles: readonly Cycle[]
  readonly droppedCycles: number
}

/**
 * Merges the cycles of two versions of one letter by number; the highest number is the current cycle. Stores save letters
 * more than once and out of order, so the result must not depend on the order of arrival.
 */
export function mergeCycles(existing: DeadLetter, incoming: DeadLetter, caps: LetterCaps): Cycles {
  const known = new Map(allCycles(existing).map(cycle => [cycle.number, cycle]))
  let count = known.size + existing.droppedCycles
  for (const cycle of allCycles(incoming)) {
    const other = known.get(cycle.number)
    if (other === undefined && !wasDropped(existing, cycle)) {
      known.set(cycle.number, cycle)
      count++
    } else if (
      other !== undefined &&
      (addsTo(existing, incoming, cycle) || areBothUnverified(other, cycle))
    ) {
      known.set(cycle.number, mergeCycle(other, cycle, caps))
    }
  }
  const inOrder = [...known.values()].sort((a, b) => a.number - b.number)
  const endedCycles = keepFirstAndLatest(inOrder.slice(0, -1).map(endedBefore(inOrder)), caps.maxCycles)
  const total = Math.max(count, allCycles(incoming).length + incoming.droppedCycles)
  return { cycle: inOrder.at(-1)!, endedCycles, droppedCycles: total - endedCycles.length - 1 }
}

/** Whether the incoming letter has a failure that is later than every change of the existing letter. */
export function isNewerFailure(existing: DeadLetter, incoming: DeadLetter): boolean {
  return incoming.cycle.lastFailedAt > existing.updatedAt
}

export function allCycles(letter: DeadLetter): readonly Cycle[] {
  return [...letter.endedCycles, letter.cycle]
}

/** Ended cycles stay as they are, unless the events of those cycles fail again. */
function addsTo(existing: DeadLetter, incoming: DeadLetter, cycle: Cycle): boolean {
  return (
    cycle === incoming.cycle && (cycle.number === existing.cycle.number || isNewerFailure(existing, incoming))
  )
}

/** Neither cycle could be verified, so either of them may be the real one. */
function areBothUnverified(existing: Cycle, incoming: Cycle): boolean {
  return existing.isUnverified === true && incoming.isUnverified === true
}

/** Dropped cycles lie between the first and the second kept cycle. They are already in the count. */
function wasDropped({ droppedCycles, endedCycles }: DeadLetter, { number }: Cycle): boolean {
  const [first, second] = endedCycles
  return (
    droppedCycles > 0 && first !== undefined && number > first.number && number < (second ?? first).number
  )
}

function endedBefore(inOrder: readonly Cycle[]): (cycle: Cycle, index: number) => Cycle {
  return (cycle, index) =>
    cycle.endedAt === undefined ? { ...cycle, endedAt: inOrder[index + 1]!.firstFailedAt } : cycle
}

/** The later failure prevails. For the same failure, a version that found poison prevails, because it has more information. */
function incomingPrevails(existing: Cycle, incoming: Cycle): boolean {
  const later = incoming.lastFailedAt - existing.lastFailedAt
  return later > 0 || (later === 0 && (quarantines(incoming.reason) || !quarantines(existing.reason)))
}

/** Merges two versions of one cycle. */
function mergeCycle(existing: Cycle, incoming: Cycle, caps: LetterCaps): Cycle {
  const believed = incomingPrevails(existing, incoming) ? incoming : existing
  const attempts = mergeAttempts(existing.attempts, incoming.attempts)
  // The replay id comes from the verified version, if one is verified.
  const [known, other] =
    existing.isUnverified && !incoming.isUnverified ? [incoming, existing] : [existing, incoming]
  const replayId = known.replayId ?? other.replayId
  const otherReplayIds = otherClaimedReplayIds(existing, incoming, replayId)
  return {
    number: existing.number,
    reason: believed.reason,
    category: believed.category,
    failure: believed.failure,
    attempts: keepFirstAndLatest(attempts, caps.maxAttempts),
    attemptCount: Math.max(existing.attemptCount, incoming.attemptCount, attempts.length),
    firstFailedAt: Math.min(existing.firstFailedAt, incoming.firstFailedAt),
    lastFailedAt: believed.lastFailedAt,
    replayId,
    replayedBy: existing.replayedBy ?? incoming.replayedBy,
    endedAt: existing.endedAt ?? incoming.endedAt,
    ...(known.isUnverified ? { isUnverified: true } : {}),
    ...(known.isUnverified && otherReplayIds.length > 0 ? { otherReplayIds } : {}),
  } satisfies EveryField<Cycle, 'isUnverified' | 'otherReplayIds'>
}

/** Neither replay id could be verified. The cycle keeps all of them, so that the real one is not lost. */
function otherClaimedReplayIds(
  existing: Cycle,
  incoming: Cycle,
  replayId: string | undefined,
): readonly string[] {
  const { otherReplayIds = [] } = existing
  const all = [...otherReplayIds, existing.replayId, ...(incoming.otherReplayIds ?? []), incoming.replayId]
  const others = new Set(all.filter(id => id !== undefined && id !== replayId) as readonly string[])
  return [...others].slice(-MAX_CLAIMED_REPLAY_IDS)
}

function mergeAttempts(
  existing: readonly AttemptRecord[],
  incoming: readonly AttemptRecord[],
): readonly AttemptRecord[] {
  const byNumber = new Map(existing.map(attempt => [attempt.number, attempt]))
  for (const attempt of incoming) {
    const other = byNumber.get(attempt.number)
    if (other === undefined || !isMoreComplete(other, attempt)) byNumber.set(attempt.number, attempt)
  }
  return [...byNumber.values()].sort((a, b) => a.number - b.number)
}

/** An ended attempt is more complete than one that has only started; otherwise the later start counts. */
function isMoreComplete(attempt: AttemptRecord, other: AttemptRecord): boolean {
  const ended = attempt.endedAt !== undefined
  const otherEnded = other.endedAt !== undefined
  return ended === otherEnded ? attempt.startedAt > other.startedAt : ended
}
