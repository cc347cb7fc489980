import { isPastRetention, type Retention } from '../../core/dead-letter/retention.ts'
import { LETTER_STATES, type LetterState } from '../../core/dead-letter/state.ts'
import type { AuditLog } from '../../ports/audit.ts'
import { audited } from '../../ports/audited.ts'
import type { LetterCounts } from '../../ports/dead-letters.ts'
import { expiryEntry, sumOf } from '../../ports/expiry.ts'
import type { OpenedLog } from './letters/log-door.ts'
import { inAnyOrder } from './letters/selection.ts'

/** Letters deleted by one record. */
const DELETED_AT_ONCE = 500
const DAY_MS = 86_400_000

/** Deletes letters that are past their retention, after the audit was told how many of which state. */
export async function expireLetters(
  opened: OpenedLog,
  audit: AuditLog,
  retention: Retention,
  now: number,
): Promise<LetterCounts> {
  const due = await findDue(opened, retention, now)
  const count = sumOf(due.byState)
  if (count > 0) {
    let deleted = 0
    const expire = async () => {
      for (let start = 0; start < due.ids.length; start += DELETED_AT_ONCE)
        deleted += await opened.log.delete(due.ids.slice(start, start + DELETED_AT_ONCE), due.isDue)
      return deleted
    }
    await audited(audit, expiryEntry(now, due.byState), expire, {
      progress: () => ({ deleted }),
      shortfall: gone => (gone === count ? undefined : { deleted: gone }),
    })
  }
  // What could not be read may be an undecided letter, so it goes only when those would have gone as well.
  const { retentionMs, expireUndecidedAfterMs } = retention
  const unreadableMs =
    retentionMs === 'never' || expireUndecidedAfterMs === 'never'
      ? Number.POSITIVE_INFINITY
      : Math.max(retentionMs, expireUndecidedAfterMs)
  await opened.compaction.run(({ name: { day } }) => Date.parse(day) + DAY_MS <= now - unreadableMs)
  return due.byState
}

interface Due {
  readonly ids: readonly string[]
  readonly byState: LetterCounts
  /** Whether the letter of a row is still due. */
  isDue(row: number): boolean
}

async function findDue({ log }: OpenedLog, retention: Retention, now: number): Promise<Due> {
  const { table } = log
  const stateOf = (row: number): LetterState => LETTER_STATES[table.index.columns.state[row]! - 1]!
  const isDue = (row: number) => {
    const { columns } = table.index
    const letter = { state: stateOf(row), updatedAt: columns.updatedAt[row]! }
    return isPastRetention({ ...letter, expiresAt: table.index.expiresAt(row) }, retention, now)
  }
  const ids: string[] = []
  const byState: { [S in LetterState]?: number } = {}
  for await (const rows of inAnyOrder(table, {}))
    for (const row of rows) {
      if (!isDue(row)) continue
      ids.push(table.index.idOf(row))
      byState[stateOf(row)] = (byState[stateOf(row)] ?? 0) + 1
    }
  return { ids, byState, isDue }
}
