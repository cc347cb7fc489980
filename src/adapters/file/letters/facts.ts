import { groupingOf } from '../../../core/dead-letter/group.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { LetterState } from '../../../core/dead-letter/state.ts'
import type { LineIndex } from '../journal/line-index.ts'
import type { Facts, Put, SegmentRows } from '../journal/segment-rows.ts'

/** What a filter can ask for by name. A million letters are of a few hundred kinds. */
export interface Kind {
  readonly channel: string
  readonly handler: string
  readonly type: string
  readonly reason: string
  readonly category: string
  /** The id of its group, also where that comes of the reason alone. */
  readonly group: string
  readonly state: LetterState
  readonly isReplayed: boolean
}

export type LetterFacts = Facts<Kind>
export type LetterIndex = LineIndex<Kind>
export type LetterRows = SegmentRows<Kind>

/** What filters, order, counts and cleaning up need of a letter. */
export function putOf(letter: DeadLetter): Put<Kind> {
  const { id, channel, handler, event, state, cycle, endedCycles, updatedAt, expiresAt, replays } = letter
  return {
    id,
    kind: {
      channel,
      handler,
      type: event.type,
      reason: cycle.reason,
      category: cycle.category,
      group: cycle.failure?.fingerprint.id ?? groupingOf(letter).id,
      state,
      isReplayed: replays > 0,
    },
    firstFailedAt: endedCycles[0]?.firstFailedAt ?? cycle.firstFailedAt,
    lastFailedAt: cycle.lastFailedAt,
    updatedAt,
    expiresAt: expiresAt ?? Number.POSITIVE_INFINITY,
  }
}
