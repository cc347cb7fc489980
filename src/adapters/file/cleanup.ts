import type { OpenedLog } from './letters/log-door.ts'
import { inAnyOrder } from './letters/selection.ts'

/** Letters deleted by one record. */
const DELETED_AT_ONCE = 500

export async function cleanUp(
  { log, compaction }: OpenedLog,
  now: number,
  retentionMs: number,
): Promise<number> {
  const isDue = (row: number) => {
    const { index } = log.table
    return index.columns.updatedAt[row]! <= now - retentionMs || index.expiresAt(row) <= now
  }
  const due: string[] = []
  for await (const rows of inAnyOrder(log.table, {})) {
    for (const row of rows) if (isDue(row)) due.push(log.table.index.idOf(row))
  }
  let deleted = 0
  for (let start = 0; start < due.length; start += DELETED_AT_ONCE) {
    deleted += await log.delete(due.slice(start, start + DELETED_AT_ONCE), isDue)
  }
  // What could not be read goes when everything that was written on its day would have gone.
  await compaction.run(({ name: { day } }) => Date.parse(day) + DAY_MS <= now - retentionMs)
  return deleted
}

const DAY_MS = 86_400_000
