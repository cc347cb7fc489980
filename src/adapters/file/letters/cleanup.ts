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
  // Another process may delete the same letters at the same time. Each letter counts where it was deleted.
  const deleted: { [S in LetterState]?: number } = {}
  if (due.ids.size > 0) {
    const expected = Object.fromEntries(Array.from(due.ids, ([state, ids]) => [state, ids.length]))
    const expire = async () => {
      for (const [state, ids] of due.ids)
        for (let start = 0; start < ids.length; start += DELETED_AT_ONCE) {
          const gone = await opened.log.delete(ids.slice(start, start + DELETED_AT_ONCE), due.isDue)
          if (gone.length > 0) deleted[state] = (deleted[state] ?? 0) + gone.length
        }
      return sumOf(deleted)
    }
    await withAudit(audit, expiryEntry(now, expected), expire, {
      progress: () => ({ deleted: sumOf(deleted) }),
      shortfall: gone => (gone === sumOf(expected) ? undefined : { deleted: gone }),
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
  return deleted
}

interface Due {
  readonly ids: ReadonlyMap<LetterState, readonly string[]>
  /** Whether the letter must still be deleted. */
  readonly isDue: (facts: LetterFacts) => boolean
}

function retained({ kind, updatedAt, expiresAt }: LetterFacts): Parameters<typeof isPastRetention>[0] {
  return {
    state: kind.state,
    updatedAt,
    expiresAt: Number.isFinite(expiresAt) ? expiresAt : undefined,
    expiresAfterMs: kind.neverExpires ? 'never' : undefined,
  }
}

async function findDue({ log }: OpenedLog, retention: Retention, now: number): Promise<Due> {
  const isDue = (facts: LetterFacts) => isPastRetention(retained(facts), retention, now)
  const ids = new Map<LetterState, string[]>()
  for await (const { rows, found } of matching(log.index, {}))
    for (const row of found.filter(each => isDue(rows.factsOf(each)))) {
      const { state } = rows.factsOf(row).kind
      const ofState = ids.get(state) ?? []
      ofState.push(rows.idOf(row))
      ids.set(state, ofState)
    }
  return { ids, isDue }
}
