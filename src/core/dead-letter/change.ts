import type { LazaretEvent } from '../event/event.ts'
import { type EventReplay, replayOf } from '../event/replay-headers.ts'
import type { DeadLetter } from './letter.ts'
import type { LetterState } from './state.ts'
import { transition } from './transition.ts'

/** One sending of a letter's event by a replay. */
export interface LetterReplay {
  readonly eventId: string
  /** Undefined when SQL sent it before schema version 3 of Postgres. */
  readonly replayId: string | undefined
  readonly attempt: number
}

/** What `changeLetter` needs to know of a change. */
interface Change {
  readonly to: LetterState
  readonly at: number
  readonly from?: LetterState | undefined
  readonly onlyIfSentBy?: LetterReplay | undefined
  readonly replayId?: string | undefined
}

/**
 * The letter after a change of state; the same object when it has that state already; undefined when the change is meant for
 * another state, or comes from another replay than the one the letter is replaying under. Rejects what is illegal.
 */
export function changeLetter(letter: DeadLetter, change: Change): DeadLetter | undefined {
  const { from, to, at, onlyIfSentBy, replayId } = change
  if (from !== undefined && letter.state !== from) return undefined
  if (onlyIfSentBy !== undefined && !(letter.state === 'replaying' && isSentBy(letter, onlyIfSentBy)))
    return undefined
  return transition(letter, to, at, replayId)
}

/**
 * Whether this is what the letter's replay sent last. Every publisher can write replay headers: they count only if they
 * name the letter's own event and the replay that the store knows of.
 */
export function isSentBy({ event, replayId, replays }: DeadLetter, sending: LetterReplay): boolean {
  return event.id === sending.eventId && replayId === sending.replayId && replays === sending.attempt
}

/** What an event that is a replay claims to be. */
export function claimOf(event: Pick<LazaretEvent, 'id'>, replay: EventReplay): LetterReplay {
  return { eventId: event.id, replayId: replay.replayId, attempt: replay.attempt }
}

/** A replay that a broker hands over. */
export interface DeliveredReplay {
  readonly claim: LetterReplay
  /** The letter that it names; undefined when SQL sent it. */
  readonly letterId: string | undefined
  /** Whether that is a letter of another channel. */
  readonly isRedirected: boolean
}

/** The replay that is handed over, or undefined; an unreadable header is ignored. */
export function deliveredReplay(
  content: LazaretEvent | { readonly raw: unknown },
): DeliveredReplay | undefined {
  const replay = 'raw' in content ? undefined : replayOf(content)
  if (replay === undefined) return undefined
  const { letterId, handler } = replay
  const claim = claimOf(content as LazaretEvent, replay)
  return { claim, letterId, isRedirected: handler === undefined && letterId !== undefined }
}

/** The replay whose outcome a letter waits for. */
export function lastSendingOf({ event, replayId, replays }: DeadLetter): LetterReplay {
  return { eventId: event.id, replayId, attempt: replays }
}
