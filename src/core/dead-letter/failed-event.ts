import type { Category } from '../failure/failure.ts'
import { masksOfEvent } from './event-masks.ts'
import type { DeadLetter } from './letter.ts'
import { DEFAULT_MASKS, type Masks } from './masks.ts'
import type { Reason } from './reason.ts'

/** What a person has to know of an event that was given up on: flat, small, without its payload. For logs and alerts. */
export interface FailedEvent {
  readonly eventId: string
  readonly type: string
  readonly channel: string
  /** Who emitted it, if it says so. */
  readonly source: string | undefined
  /** Whom it was for, by the name that the outbox has in its column of that name: the handler's. */
  readonly target: string
  /** The handler or sink that gave up. */
  readonly handler: string
  /** Undefined when no attempt was made. */
  readonly lastError: string | undefined
  readonly attempts: number
  readonly reason: Reason
  readonly category: Category
  /** 0: it failed in its first cycle; n: its nth replay failed. */
  readonly replay: number
  readonly firstFailedAt: string
  readonly lastFailedAt: string
  readonly letterId: string
}

/**
 * The texts of errors are masked, also where they quote what is masked in the event: a log and an alert are read by
 * more people than a letter is.
 */
export function failedEvent(letter: DeadLetter, masks: Masks = DEFAULT_MASKS): FailedEvent {
  const { id, channel, handler, event, cycle } = letter
  const { failure } = cycle
  return {
    eventId: event.id,
    type: event.type,
    channel,
    source: event.source,
    target: handler,
    handler,
    lastError: failure && masksOfEvent(event, masks).maskText(`${failure.name}: ${failure.message}`),
    attempts: cycle.attemptCount,
    reason: cycle.reason,
    category: cycle.category,
    replay: cycle.number,
    firstFailedAt: new Date(cycle.firstFailedAt).toISOString(),
    lastFailedAt: new Date(cycle.lastFailedAt).toISOString(),
    letterId: id,
  }
}
