import type { LazaretEvent } from '../event/event.ts'
import { type EventReplay, replayOf } from '../event/replay-headers.ts'
import type { DeadLetter } from './letter.ts'
import type { LetterState } from './state.ts'
import { transition } from './transition.ts'

/** One send of a letter's event by a replay. */
export interface LetterReplay {
  readonly eventId: string
  /** Undefined if SQL replayed the event before schema version 3 of Postgres. */
  readonly replayId: string | undefined
  readonly attempt: number
}

/** The fields of `LetterChange` that `changeLetter` reads. */
interface Change {
  readonly to: LetterState
  readonly at: number
  readonly from?: LetterState | undefined
  readonly onlyIfSentBy?: LetterReplay | undefined
  readonly onlyIfReplays?: number | undefined
  readonly onlyIfLastFailedAt?: number | undefined
  readonly replayId?: string | undefined
}

/**
 * Returns the letter after a change of state, or the same object if it has that state already. Returns undefined if the
 * letter is in another state than `from`, if another replay sent it, if its number of replays is not `onlyIfReplays`, or if its
 * last failure is not that of `onlyIfLastFailedAt`.
 * Throws TransitionError if the change is illegal.
 */
export function changeLetter(letter: DeadLetter, change: Change): DeadLetter | undefined {
  const { from, to, at, onlyIfSentBy, onlyIfReplays, onlyIfLastFailedAt, replayId } = change
  if (from !== undefined && letter.state !== from) return undefined
  if (onlyIfReplays !== undefined && letter.replays !== onlyIfReplays) return undefined
  if (onlyIfLastFailedAt !== undefined && letter.cycle.lastFailedAt !== onlyIfLastFailedAt) return undefined
  if (onlyIfSentBy !== undefined && !(letter.state === 'replaying' && isSentBy(letter, onlyIfSentBy)))
    return undefined
  return transition(letter, to, at, replayId)
}

/**
 * Whether the letter's replay sent this last. Every publisher can write replay headers, so they count only if they name
 * the letter's own event and the replay that the store knows.
 */
export function isSentBy({ event, replayId, replays }: DeadLetter, sending: LetterReplay): boolean {
  return event.id === sending.eventId && replayId === sending.replayId && replays === sending.attempt
}

/**
 * The replay that an event claims to be. The claim is checked against the letter, because any publisher can write
 * headers.
 */
export function claimOf(event: Pick<LazaretEvent, 'id'>, replay: EventReplay): LetterReplay {
  return { eventId: event.id, replayId: replay.replayId, attempt: replay.attempt }
}

/** A replay that a broker delivers. */
export interface DeliveredReplay {
  readonly claim: LetterReplay
  /** The letter that the replay names; undefined if SQL replayed the event. */
  readonly letterId: string | undefined
  /** Whether the letter belongs to another channel. */
  readonly isRedirected: boolean
}

/** Returns the replay that a delivery claims to be, or undefined. Unreadable replay headers count as none. */
export function deliveredReplay(
  content: LazaretEvent | { readonly raw: unknown },
): DeliveredReplay | undefined {
  const replay = 'raw' in content ? undefined : replayOf(content)
  if (replay === undefined) return undefined
  const { letterId, handler } = replay
  const claim = claimOf(content as LazaretEvent, replay)
  return { claim, letterId, isRedirected: handler === undefined && letterId !== undefined }
}

/** The replay whose outcome the letter waits for. */
export function lastSendingOf({ event, replayId, replays }: DeadLetter): LetterReplay {
  return { eventId: event.id, replayId, attempt: replays }
}

/** Whether the replay has sent the letter, or is about to. */
export function isTakenBy(
  { state, replayId }: Pick<DeadLetter, 'state' | 'replayId'>,
  replay: string,
): boolean {
  return state === 'replaying' && replayId === replay
}
