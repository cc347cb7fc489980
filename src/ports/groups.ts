import type { Grouping, Triage, TriageState } from '../core/dead-letter/group.ts'
import type { Category } from '../core/failure/failure.ts'

/** All dead letters with one fingerprint, as a person sees them. */
export interface Group extends Grouping {
  readonly category: Category
  /** Bounded: the channels its letters come from, most letters first. */
  readonly channels: readonly string[]
  /** Letters of the group, and of those the ones that still wait for someone: dead, quarantined or parked. */
  readonly count: number
  readonly waiting: number
  readonly firstSeenAt: number
  readonly lastSeenAt: number
  /** Letters of the group that were sent again, and of those the ones that are resolved. */
  readonly replayed: number
  readonly recovered: number
  readonly triage: Triage
  /** The triage as it is at the moment of asking (core/dead-letter/group). */
  readonly state: TriageState
  readonly regressed: boolean
  readonly notes: readonly GroupNote[]
}

/** A note that a person wrote on a group. */
export interface GroupNote {
  readonly at: number
  readonly by: string
  readonly text: string
}

/** Selects one page of groups. */
export interface GroupQuery {
  readonly state?: TriageState | undefined
  readonly channel?: string | undefined
  readonly search?: string | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** One page of groups. Without a cursor it is the last page. */
export interface GroupPage {
  readonly groups: readonly Group[]
  readonly cursor: string | undefined
}

/** A decision of a person about a group. */
export interface TriageChange {
  readonly state?: TriageState | undefined
  /** null takes it away. */
  readonly owner?: string | null | undefined
  readonly link?: string | null | undefined
  readonly mutedUntil?: number | undefined
  readonly note?: string | undefined
  readonly at: number
  readonly by: string
}

/**
 * Groups follow from the letters of the same store; only what people add to them (triage, notes) is stored.
 *
 * - `list` is last seen first, ids breaking ties, with the same promises as listing letters.
 * - `change` is atomic and answers the group as it is afterwards, undefined when no letter has that fingerprint.
 * - A group whose last letter was deleted is not listed; its triage is kept in case it comes back.
 */
export interface Groups {
  list(query?: GroupQuery): Promise<GroupPage>
  get(id: string): Promise<Group | undefined>
  change(id: string, change: TriageChange): Promise<Group | undefined>
}
