import type { Reason } from '../../../core/dead-letter/reason.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import type { LazaretError } from '../../../core/failure/errors.ts'
import type { Failure } from '../../../core/failure/failure.ts'

/**
 * What became of an event in one sink's lane.
 *
 * - `delivered`: the sink has taken it.
 * - `accepted`: it is in the buffer; told only to those who asked not to wait longer.
 * - `dead_lettered`: given up on, and a dead letter holds it.
 * - `dropped`: given up on, and not kept, because the filter or an option says so.
 * - `journaled`: the dispatcher closed before the sink took it. The journal has it, and the next process sends it.
 * - `unsaved`: given up on, and neither the store nor the spill took the letter. The dispatcher goes on trying to save
 *   it for as long as it runs, but it is not durable anywhere; when too many of them are waiting already, it does not.
 */
export type OutcomeKind = 'delivered' | 'accepted' | 'dead_lettered' | 'dropped' | 'journaled' | 'unsaved'

export interface SinkOutcome {
  readonly outcome: OutcomeKind
  /** Why it was given up on. */
  readonly reason?: Reason | undefined
  /** The failure of its last attempt, if there was one. */
  readonly failure?: Failure | undefined
}

export type SinkOutcomes<N extends string = string> = { readonly [name in N]: SinkOutcome }

export interface TrackResult<N extends string = string> {
  /** Undefined only when what was given is no event and the failure was swallowed. */
  readonly event: LazaretEvent | undefined
  readonly sinks: SinkOutcomes<N>
  /** The failure that was not thrown, because it happened in a job or the caller asked for it. */
  readonly swallowed?: LazaretError | undefined
}

export const DELIVERED: SinkOutcome = Object.freeze({ outcome: 'delivered' })
export const JOURNALED: SinkOutcome = Object.freeze({ outcome: 'journaled', reason: 'shutdown' })
export const ACCEPTED: SinkOutcome = Object.freeze({ outcome: 'accepted' })

export function sameForAll(names: readonly string[], outcome: SinkOutcome): SinkOutcomes {
  return Object.freeze(Object.fromEntries(names.map(name => [name, outcome])))
}
