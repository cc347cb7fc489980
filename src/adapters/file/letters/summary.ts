import { groupingOf } from '../../../core/dead-letter/group.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { LetterState } from '../../../core/dead-letter/state.ts'
import type { Kind } from './kinds.ts'

/** What filters, order, counts and cleaning up need of a letter. */
export interface Summary extends Kind {
  readonly id: string
  readonly state: LetterState
  /** Of the first failure of all its cycles. */
  readonly firstFailedAt: number
  readonly lastFailedAt: number
  readonly updatedAt: number
  readonly expiresAt: number | undefined
  readonly isReplayed: boolean
}

export function summaryOf(letter: DeadLetter): Summary {
  const { id, channel, handler, event, state, cycle, endedCycles, updatedAt, expiresAt, replays } = letter
  return {
    id,
    channel,
    handler,
    type: event.type,
    reason: cycle.reason,
    category: cycle.category,
    group: cycle.failure?.fingerprint.id ?? groupingOf(letter).id,
    state,
    firstFailedAt: endedCycles[0]?.firstFailedAt ?? cycle.firstFailedAt,
    lastFailedAt: cycle.lastFailedAt,
    updatedAt,
    expiresAt,
    isReplayed: replays > 0,
  }
}
