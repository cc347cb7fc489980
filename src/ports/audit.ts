import type { JsonValue } from '../core/event/event.ts'

/** One action of a person or a replay: who, what, on which target, and when. It never holds a payload. */
export interface AuditEntry {
  readonly at: number
  readonly by: string
  /** Such as `letter.discard`, `replay.start`, `group.mute`, `payload.reveal`. */
  readonly action: string
  /** The target of the action: the id of a letter, group or replay, or a filter in words. */
  readonly target: string
  readonly detail?: Readonly<Record<string, JsonValue>> | undefined
}

/** Selects entries of the audit log. */
export interface AuditQuery {
  /** Only entries of this person, token or program. */
  readonly by?: string | undefined
  readonly target?: string | undefined
  readonly action?: string | undefined
  readonly limit?: number | undefined
  readonly cursor?: string | undefined
}

/** One page of the audit log. Without a cursor it is the last page. */
export interface AuditPage {
  readonly entries: readonly AuditEntry[]
  readonly cursor: string | undefined
}

/**
 * Records the actions of people and replays, and never changes a record. `append` resolves when the record is durable;
 * `list` is newest first.
 */
export interface AuditLog {
  append(entry: AuditEntry): Promise<void>
  list(query?: AuditQuery): Promise<AuditPage>
}
