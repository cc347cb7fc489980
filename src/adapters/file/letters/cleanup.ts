import { expiryEntry, sumOf } from '../../../adapter-kit/expiry.ts'
import { withAudit } from '../../../adapter-kit/with-audit.ts'
import { isPastRetention, type Retention } from '../../../core/dead-letter/retention.ts'
import type { LetterState } from '../../../core/dead-letter/state.ts'
import type { AuditLog } from '../../../ports/audit.ts'
import type { LetterCounts } from '../../../ports/dead-letters.ts'
import type { OpenedLog } from './lazy-letter-log.ts'
import type { LetterFacts } from './record.ts'
import { matching } from './selection.ts'

/** The number of letters that one record deletes. */
const DELETED_AT_ONCE = 500
const DAY_MS = 86_400_000

/** Deletes letters past their retention. Before that, it writes to the audit log how many of each state will go. */
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
    await withAudit(audit, expiryEntry(now, due.byState), expire, {
      progress: () => ({ deleted }),
      shortfall: gone => (gone === count ? undefined : { deleted: gone }),
    })
  }
  // An unreadable line may be an undecided letter, so it is deleted only when undecided letters of its age are deleted
  // too.
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
  /** Whether the letter must still be deleted. */
  readonly isDue: (facts: LetterFacts) => boolean
}

async function findDue({ log }: OpenedLog, retention: Retention, now: number): Promise<Due> {
  const isDue = ({ kind: { state }, updatedAt, expiresAt }: LetterFacts) =>
    isPastRetention({ state, updatedAt, expiresAt }, retention, now)
  const ids: string[] = []
  const byState: { [S in LetterState]?: number } = {}
  for await (const { rows, found } of matching(log.index, {}))
    for (const row of found.filter(each => isDue(rows.factsOf(each)))) {
      const { state } = rows.factsOf(row).kind
      ids.push(rows.idOf(row))
      byState[state] = (byState[state] ?? 0) + 1
    }
  return { ids, byState, isDue }
}
