import type { OpenState } from '../../../adapter-kit/open-state.ts'
import { matchesAuditQuery, resolveAuditQuery } from '../../../adapter-kit/query/audit-query.ts'
import { pageOf } from '../../../adapter-kit/query/page.ts'
import { readAuditEntry } from '../../../adapter-kit/query/read-audit-entry.ts'
import type { AuditEntry, AuditLog } from '../../../ports/audit.ts'
import type { RedisConnection } from '../connection/connection.ts'
import { listOf, pairsOf, textOf } from '../connection/replies.ts'
import { ScriptRunner } from '../connection/script.ts'
import type { Keys } from '../keys.ts'
import { recordExpired } from '../letters/scripts.ts'

/** Entries read at once while looking for those that match. */
const READ_AT_ONCE = 500

interface NumberedEntry {
  readonly id: string
  readonly entry: AuditEntry
}

/** A stream: entries are only ever added, and the cursor is the id of the last one shown. */
export function redisAudit(connection: RedisConnection, keys: Keys, door: OpenState): AuditLog {
  const key = keys.of('audit')
  const letters = new ScriptRunner(connection, keys.of('letters'), door)
  return {
    async append(entry) {
      door.requireOpen()
      const words = ['XADD', key, '*', 'entry', JSON.stringify(entry)]
      await connection.send('writing the audit log', words, { key })
    },

    async list(query) {
      door.requireOpen()
      const { limit, behind, cursorAt, ...wanted } = resolveAuditQuery(query, readEntryId)
      // Expired letters are recorded now, so that the reader sees all deletions.
      if (behind === undefined) await letters.run(recordExpired, [])
      const found: NumberedEntry[] = []
      for (
        let before: string | undefined = behind === undefined ? '+' : `(${behind}`;
        before !== undefined && found.length <= limit;
      ) {
        const slice = await read(before)
        for (const { id, entry } of slice)
          if (entry !== undefined && matchesAuditQuery(entry, wanted)) found.push({ id, entry })
        before = slice.length < READ_AT_ONCE ? undefined : `(${slice.at(-1)!.id}`
      }
      const { shown, cursor } = pageOf(found, limit, ({ id }) => cursorAt(id))
      return { entries: shown.map(({ entry }) => entry), cursor }
    },
  }

  /** An entry that is not one of ours has no content, and its id only. */
  async function read(
    before: string,
  ): Promise<{ readonly id: string; readonly entry: AuditEntry | undefined }[]> {
    const words = ['XREVRANGE', key, before, '-', 'COUNT', String(READ_AT_ONCE)]
    const reply = await connection.send('reading the audit log', words, {
      key,
      idempotent: true,
    })
    return listOf(reply).map(each => {
      const [id, fields] = listOf(each)
      return { id: textOf(id), entry: readAuditEntry(textOf(new Map(pairsOf(fields)).get('entry'))) }
    })
  }
}

/** The server refuses an id of greater numbers. */
const MAX_ID_NUMBER = 2n ** 64n - 1n

function readEntryId(place: string): string | undefined {
  const [, time, sequence] = /^(\d{1,20})-(\d{1,20})$/.exec(place) ?? []
  if (time === undefined || BigInt(time) > MAX_ID_NUMBER || BigInt(sequence!) > MAX_ID_NUMBER)
    return undefined
  // The server refuses a search that ends before the first id there can be.
  return BigInt(time) === 0n && BigInt(sequence!) === 0n ? undefined : place
}
