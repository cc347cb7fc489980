// How the audit tells of letters that retention deletes, whichever store does it.
import type { AuditEntry } from '../ports/audit.ts'
import type { LetterCounts } from '../ports/dead-letters.ts'

/** Who deletes them, for the audit. */
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
