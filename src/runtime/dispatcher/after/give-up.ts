import type { AttemptRecord } from '../../../core/dead-letter/letter.ts'
import type { Reason } from '../../../core/dead-letter/reason.ts'
import type { JsonValue } from '../../../core/event/event.ts'
import type { Failure } from '../../../core/failure/failure.ts'

/** Why, and with what, a lane gives up on an event. */
export interface GiveUp {
  readonly reason: Reason
  readonly failure?: Failure | undefined
  readonly thrown?: unknown
  readonly attempts?: readonly AttemptRecord[] | undefined
  readonly attemptCount?: number | undefined
  readonly detail?: Readonly<Record<string, JsonValue>> | undefined
}
