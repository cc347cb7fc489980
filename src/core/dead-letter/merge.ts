import { DEFAULT_LETTER_CAPS, type LetterCaps } from './caps.ts'
import { isSentBy } from './change.ts'
import { allCycles, isNewerFailure, mergeCycles } from './cycles.ts'
import { withoutDroppedValues } from './dropped-event.ts'
import { LetterError } from './errors.ts'
import type { DeadLetter, EveryField } from './letter.ts'
import { isHeld, type LetterState } from './state.ts'
import { detailWith, notReplayable } from './storable-event.ts'

/**
 * Merges a letter into the one that a store may already have. Letters are saved at least once and out of order: a crash
 * repeats a save, and the spill delays it. So merging the same letter twice changes nothing, and a late, older version
 * only fills gaps.
 *
 * - A higher cycle becomes the current one; the previous one becomes an ended cycle.
 * - The same cycle again: the attempts are merged, and the later failure prevails.
 * - While the letter is replaying, only a failure of its own replay changes its state. Another failure of its event, such
 *   as that of a duplicate or a forged replay, joins the history, and the letter stays replaying.
 * - The event of the earliest cycle is kept. Errors of another event with the same id hide what only that event had.
 * - A lower cycle is a late duplicate. It fills its number in the history if that is missing. It opens a closed letter
 *   again only if its failure is later than the closing, because then the event has failed once more.
 */
export function mergeLetter(
  existing: DeadLetter | undefined,
  incoming: DeadLetter,
  caps: LetterCaps = DEFAULT_LETTER_CAPS,
): DeadLetter {
  if (existing === undefined || existing === incoming) return incoming
  requireSameIdentity(existing, incoming)
  return merged(existing, asKnown(existing, incoming), caps)
}

function merged(existing: DeadLetter, incoming: DeadLetter, caps: LetterCaps): DeadLetter {
  const newer = isNewer(existing, incoming) ? incoming : existing
  // A copy without an expiry, such as one of a collector, does not take away the one that the letter has.
  const older = newer === incoming ? existing : incoming
  const expiry = hasExpiry(newer) ? newer : older
  const original = firstCycle(incoming) < firstCycle(existing) ? incoming : existing
  const [one, other] = [existing, incoming].map(each =>
    each === original ? each : withoutDroppedValues(each, original.event),
  ) as [DeadLetter, DeadLetter]
  const cycles = mergeCycles(one, other, caps)
  return {
    v: 1,
    id: existing.id,
    channel: existing.channel,
    handler: existing.handler,
    event: original.event,
    origin: original.origin,
    state: mergedState(existing, incoming),
    ...cycles,
    replays: Math.max(existing.replays, incoming.replays, cycles.cycle.number),
    replayId: existing.cycle.isUnverified ? cycles.cycle.replayId : lastReplayId(existing, incoming),
    createdAt: Math.min(existing.createdAt, incoming.createdAt),
    updatedAt: mergedUpdate(existing, incoming),
    expiresAt: expiry.expiresAt,
    expiresAfterMs: expiry.expiresAfterMs,
    autoReplay: newer.autoReplay,
    // A copy of a collector does not know it.
    ordering: newer.ordering ?? older.ordering,
    detail: detailWith(newer.detail, notReplayable(original)),
    metadata: newer.metadata ?? older.metadata,
    job: newer.job,
    release: newer.release,
    host: newer.host,
  } satisfies EveryField<DeadLetter>
}

/**
 * Rewrites a failure that claims to be the current or a later replay of a replaying letter, and that this replay did not
 * send. The failure joins the current cycle, and the letter stays replaying: it still waits for its own replay.
 */
function asKnown(existing: DeadLetter, incoming: DeadLetter): DeadLetter {
  const { number, replayId } = incoming.cycle
  // A letter with ended cycles is a copy from another store, and not the report of one failure.
  const isOneFailure = incoming.endedCycles.length === 0 && incoming.droppedCycles === 0
  const claimsCurrentReplay =
    isOneFailure && existing.state === 'replaying' && number > 0 && number >= existing.replays
  if (!claimsCurrentReplay || isSentBy(existing, { eventId: incoming.event.id, replayId, attempt: number }))
    return incoming
  const { number: current, replayId: currentId, replayedBy } = existing.cycle
  // The replay did not send this payload, so it cannot tell how the payload was edited.
  const unknown = { ...incoming, cycle: { ...incoming.cycle, replayId: undefined } }
  const { cycle } = withoutDroppedValues(unknown, existing.event)
  return {
    ...incoming,
    state: 'replaying',
    cycle: { ...cycle, number: current, replayId: currentId, replayedBy },
    endedCycles: [],
    droppedCycles: 0,
    replays: existing.replays,
  }
}

function requireSameIdentity(existing: DeadLetter, incoming: DeadLetter): void {
  for (const field of ['channel', 'handler'] as const) {
    if (existing[field] !== incoming[field]) throw anotherIdentity(field, existing, incoming[field])
  }
  if (existing.event.id !== incoming.event.id) throw anotherIdentity('event.id', existing, incoming.event.id)
}

function anotherIdentity(field: string, existing: DeadLetter, received: string): LetterError {
  const remedy = `merge only letters of one identity; letter ${existing.id} has another ${field}`
  return new LetterError('merging dead letters', [
    { path: field, received: JSON.stringify(received), remedy },
  ])
}

function hasExpiry({ expiresAt, expiresAfterMs }: DeadLetter): boolean {
  return expiresAt !== undefined || expiresAfterMs !== undefined
}

function firstCycle(letter: DeadLetter): number {
  return allCycles(letter)[0]!.number
}

function isNewer(existing: DeadLetter, incoming: DeadLetter): boolean {
  const ahead = incoming.cycle.number - existing.cycle.number
  return ahead > 0 || (ahead === 0 && incoming.updatedAt > existing.updatedAt)
}

/** The id of the replay that sent the letter last. A letter that is sent without a replay has none. */
function lastReplayId(existing: DeadLetter, incoming: DeadLetter): string | undefined {
  if (incoming.replays > existing.replays) return incoming.replayId
  if (incoming.replays < existing.replays || existing.state === 'replaying') return existing.replayId
  return existing.replayId ?? incoming.replayId
}

function mergedUpdate(existing: DeadLetter, incoming: DeadLetter): number {
  const isLate = incoming.cycle.number < existing.cycle.number && !isNewerFailure(existing, incoming)
  return isLate ? existing.updatedAt : Math.max(existing.updatedAt, incoming.updatedAt)
}

function mergedState(existing: DeadLetter, incoming: DeadLetter): LetterState {
  const ahead = incoming.cycle.number - existing.cycle.number
  // The failure belongs to the first cycle, or to a replay before the current one.
  const isEarlierCycle = existing.state === 'replaying' && incoming.cycle.number < existing.replays
  if (isEarlierCycle && (isHeld(incoming.state) || incoming.cycle.number > 0)) return existing.state
  const isClosed = existing.state === 'resolved' || existing.state === 'discarded'
  // A person discarded the letter after this failure, so it stays discarded. A resolved letter opens again, because its
  // event has failed after all.
  const isDecided =
    existing.state === 'discarded' && isHeld(incoming.state) && !isNewerFailure(existing, incoming)
  if (ahead > 0) return isDecided ? existing.state : incoming.state
  if (ahead < 0)
    return isClosed && isHeld(incoming.state) && isNewerFailure(existing, incoming)
      ? incoming.state
      : existing.state
  return stateInSameCycle(existing, incoming)
}

/**
 * The later decision counts. But two versions with different failures, or with different reasons for one failure, are not
 * decisions: a redelivery may know less, and the later failure may arrive first. So neither version moves a letter out of
 * a stricter state, and only a newer failure ends a replay or opens a closed letter.
 */
function stateInSameCycle(existing: DeadLetter, incoming: DeadLetter): LetterState {
  const areHeld = isHeld(existing.state) && isHeld(incoming.state)
  const later = incoming.updatedAt - existing.updatedAt
  const failedLater = incoming.cycle.lastFailedAt - existing.cycle.lastFailedAt
  const hasOtherReason = failedLater === 0 && incoming.cycle.reason !== existing.cycle.reason
  if (areHeld && (hasOtherReason || failedLater > 0 || (failedLater < 0 && later > 0)))
    return stricter(existing.state, incoming.state)
  if (!areHeld && isHeld(incoming.state) && (hasOtherReason || failedLater !== 0))
    return isNewerFailure(existing, incoming) ? incoming.state : existing.state
  if (later < 0) return existing.state
  if (later === 0) return areHeld ? stricter(existing.state, incoming.state) : existing.state
  return incoming.state
}

function stricter(a: LetterState, b: LetterState): LetterState {
  if (a === 'quarantined' || b === 'quarantined') return 'quarantined'
  return a === 'parked' || b === 'parked' ? 'parked' : 'dead'
}
