// The audit entries of letters that retention deletes, the same for every store.
import type { AuditEntry } from '../ports/audit.ts'
import type { LetterCounts } from '../ports/dead-letters.ts'

/** The actor of these audit entries. */
export const RETENTION = 'retention'
export const EXPIRE_ACTION = 'letters.expire'
export const EXPIRE_TARGET = 'letters past their retention'

/** The audit entry about letters that were deleted after their retention. */
export function expiryEntry(at: number, byState: LetterCounts): AuditEntry {
  const detail = { letters: sumOf(byState), byState: { ...byState } as Record<string, number> }
  return { at, by: RETENTION, action: EXPIRE_ACTION, target: EXPIRE_TARGET, detail }
}

export function sumOf(counts: LetterCounts): number {
  return Object.values(counts).reduce((sum, count) => sum + count, 0)
}
