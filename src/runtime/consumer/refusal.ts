import type { Reason } from '../../core/dead-letter/reason.ts'

/** Why an event is given up on without an attempt. */
export interface Refusal {
  readonly reason: Reason
  readonly thrown: unknown
}
