import type { AttemptRecord } from '../../../core/dead-letter/letter.ts'
import type { Reason } from '../../../core/dead-letter/reason.ts'
import type { JsonValue, LazaretEvent } from '../../../core/event/event.ts'
import { LazaretError } from '../../../core/failure/errors.ts'
import type { Failure } from '../../../core/failure/failure.ts'

/**
 * What became of an event in one sink's lane.
 *
 * - `delivered`: the sink has taken it.
 * - `accepted`: it is in the buffer; returned only with `wait: 'accepted'`.
 * - `dead_lettered`: given up on, and a dead letter holds it.
 * - `dropped`: given up on, and not kept, because the filter or an option says so.
 * - `journaled`: the dispatcher closed before the sink took it. The journal has it, and the next process sends it.
 * - `unsaved`: given up on, and neither the store nor the spill took the letter. The dispatcher goes on trying to save
 *   it for as long as it runs, but it is not durable anywhere; when too many of them are waiting already, it does not.
 */
export type OutcomeKind = 'delivered' | 'accepted' | 'dead_lettered' | 'dropped' | 'journaled' | 'unsaved'

/** What one sink did with an event. */
export interface SinkOutcome {
  readonly outcome: OutcomeKind
  /** Why it was given up on. */
  readonly reason?: Reason | undefined
  /** The failure of its last attempt, if there was one. */
  readonly failure?: Failure | undefined
}

export type SinkOutcomes<N extends string = string> = { readonly [name in N]: SinkOutcome }

/** The outcomes of an event by sink. */
export interface TrackResult<N extends string = string> {
  /** Undefined only when the input is not a valid event and the failure was swallowed. */
  readonly event: LazaretEvent | undefined
  readonly sinks: SinkOutcomes<N>
  /** The failure that was not thrown, because it happened in a job or the caller asked for it. */
  readonly swallowed?: LazaretError | undefined
}

export const DELIVERED: SinkOutcome = Object.freeze({ outcome: 'delivered' })
export const JOURNALED: SinkOutcome = Object.freeze({ outcome: 'journaled', reason: 'shutdown' })
export const HANDED_OVER: SinkOutcome = Object.freeze({ outcome: 'dropped' })
export const ACCEPTED: SinkOutcome = Object.freeze({ outcome: 'accepted' })

export function sameForAll(names: readonly string[], outcome: SinkOutcome): SinkOutcomes {
  return Object.freeze(Object.fromEntries(names.map(name => [name, outcome])))
}

/**
 * Tracking an event failed: no sink took it, or a copy of it could not even be saved. `result` says what became of
 * it in each sink. Copies that are dead letters are safe: tracking the event again would send them twice.
 */
export class TrackingError extends LazaretError {
  override readonly name = 'TrackingError'
  readonly result: TrackResult

  constructor(result: TrackResult, cause?: unknown) {
    const unsaved = Object.values(result.sinks).some(({ outcome }) => outcome === 'unsaved')
    const { id, type } = result.event ?? { id: '?', type: '?' }
    const remedy = unsaved
      ? 'not every dead letter was saved; check the dead-letter store, and track the event again'
      : 'replay its dead letters when the sinks work again'
    super(`event ${id} of type '${type}' was not tracked: ${outcomesText(result)}; ${remedy}`, {
      code: 'LAZARET_TRACKING_FAILED',
      retryable: unsaved,
      ...(cause === undefined ? {} : { cause }),
    })
    this.result = result
  }
}

function outcomesText({ sinks }: TrackResult): string {
  return Object.entries(sinks)
    .map(([name, { outcome, reason }]) => `${name} ${outcome}${reason === undefined ? '' : ` (${reason})`}`)
    .join(', ')
}

/** Why, and with what, a lane gives up on an event. */
export interface GiveUp {
  readonly reason: Reason
  readonly failure?: Failure | undefined
  readonly thrown?: unknown
  readonly attempts?: readonly AttemptRecord[] | undefined
  readonly attemptCount?: number | undefined
  readonly detail?: Readonly<Record<string, JsonValue>> | undefined
}
