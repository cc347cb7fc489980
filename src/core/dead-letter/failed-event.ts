import type { Category } from '../failure/failure.ts'
import { masksOfLetter } from './event-masks.ts'
import type { DeadLetter } from './letter.ts'
import { maskForDisplay } from './mask.ts'
import { MASK } from './mask-text.ts'
import { DEFAULT_MASKS, type Masks } from './masks.ts'
import type { Reason } from './reason.ts'

/** A short summary of a failed event for logs and alerts: flat, small, without the payload. */
export interface FailedEvent {
  readonly eventId: string
  readonly type: string
  readonly channel: string
  /** The service that emitted the event, if the event names it. */
  readonly source: string | undefined
  /** The handler that the event was for. The name is that of the column in the outbox. */
  readonly target: string
  /** The handler or sink that gave up. */
  readonly handler: string
  /** Undefined when no attempt was made. */
  readonly lastError: string | undefined
  readonly attempts: number
  readonly reason: Reason
  readonly category: Category
  /** 0 if the event failed in its first cycle, n if its nth replay failed. */
  readonly replay: number
  readonly firstFailedAt: string
  readonly lastFailedAt: string
  readonly letterId: string
}

/**
 * Masks the texts of errors and the source as the API does, and the values of the event that they quote. More people read logs
 * and alerts than letters.
 */
export function failedEvent(letter: DeadLetter, masks: Masks = DEFAULT_MASKS): FailedEvent {
  const { id, channel, handler, event, cycle } = letter
  const { failure } = cycle
  const own = masksOfLetter(letter, masks)
  return {
    eventId: event.id,
    type: event.type,
    channel,
    source: event.source === undefined ? undefined : maskedSource(event.source, own),
    target: handler,
    handler,
    lastError: failure && own.maskText(`${failure.name}: ${failure.message}`),
    attempts: cycle.attemptCount,
    reason: cycle.reason,
    category: cycle.category,
    replay: cycle.number,
    firstFailedAt: new Date(cycle.firstFailedAt).toISOString(),
    lastFailedAt: new Date(cycle.lastFailedAt).toISOString(),
    letterId: id,
  }
}

/** A path or a name may hide the source too. */
function maskedSource(source: string, own: Masks): string {
  const shown = maskForDisplay({ source }, own)
  return typeof shown === 'object' ? (shown as { readonly source: string }).source : MASK
}
