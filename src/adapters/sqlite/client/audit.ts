import { OptionsError } from '../../../core/options/faults.ts'
import { resolveOptions } from '../../../core/options/resolve.ts'
import { integer, optional, text, withDefault } from '../../../core/options/rules.ts'
import type { AuditEntry, AuditLog, AuditPage, AuditQuery } from '../../../ports/audit.ts'
import { DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT } from '../../../ports/letter-query.ts'
import type { AuditRow } from '../calls.ts'
import type { Connection } from './connection.ts'
import type { Door } from './door.ts'

const queryRules = {
  target: optional(text()),
  action: optional(text()),
  limit: withDefault(integer({ min: 1, max: MAX_PAGE_LIMIT }), DEFAULT_PAGE_LIMIT),
  cursor: optional(text()),
}

/** The cursor is the number of the last entry shown: entries are only ever added. */
export class SqliteAudit implements AuditLog {
  readonly #connection: Connection
  readonly #door: Door

  constructor(connection: Connection, door: Door) {
    this.#connection = connection
    this.#door = door
  }

  async append(entry: AuditEntry): Promise<void> {
    this.#door.requireOpen()
    await this.#connection.writer.call('appendAudit', entry)
  }

  async list(query?: AuditQuery): Promise<AuditPage> {
    this.#door.requireOpen()
    const { limit, cursor, ...wanted } = resolveOptions('query', queryRules, query)
    const before = cursor === undefined ? undefined : readCursor(cursor)
    const rows = await this.#connection.read('listAudit', wanted, limit + 1, before)
    const shown = rows.slice(0, limit)
    return {
      entries: shown.map(entryOf),
      cursor: rows.length > limit ? String(shown.at(-1)?.seq) : undefined,
    }
  }
}

function entryOf({ at, by, action, target, detail }: AuditRow): AuditEntry {
  const entry = { at, by, action, target }
  return detail === null ? entry : { ...entry, detail: JSON.parse(detail) }
}

function readCursor(cursor: string): number {
  if (/^\d{1,15}$/.test(cursor)) return Number(cursor)
  const remedy = 'give the cursor of the page before'
  throw new OptionsError('query', [{ path: 'query.cursor', received: JSON.stringify(cursor), remedy }])
}
