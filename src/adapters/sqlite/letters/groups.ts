import type { Door } from '../../../adapter-kit/door.ts'
import { groupCursor, resolveGroupQuery } from '../../../adapter-kit/query/group-query.ts'
import { currentTriage, type Triage, UNTRIAGED } from '../../../core/dead-letter/group.ts'
import type { Category } from '../../../core/failure/failure.ts'
import type { Group, GroupPage, GroupQuery, Groups, TriageChange } from '../../../ports/groups.ts'
import type { GroupRow } from '../connection/calls.ts'
import type { Connection } from '../connection/connection.ts'

export class SqliteGroups implements Groups {
  readonly #connection: Connection
  readonly #door: Door

  constructor(connection: Connection, door: Door) {
    this.#connection = connection
    this.#door = door
  }

  async list(query?: GroupQuery): Promise<GroupPage> {
    this.#door.requireOpen()
    const { behind, ...wanted } = resolveGroupQuery(query)
    const rows = await this.#connection.read('listGroups', wanted, behind)
    const groups = rows.slice(0, wanted.limit).map(row => this.#group(row))
    const last = groups.at(-1)
    const hasMore = rows.length > wanted.limit && last !== undefined
    return { groups, cursor: hasMore ? groupCursor(last, query ?? {}) : undefined }
  }

  async get(id: string): Promise<Group | undefined> {
    this.#door.requireOpen()
    const row = await this.#connection.read('getGroup', id)
    return row && this.#group(row)
  }

  async change(id: string, change: TriageChange): Promise<Group | undefined> {
    this.#door.requireOpen()
    return (await this.#connection.writer.call('changeGroup', id, change)) ? this.get(id) : undefined
  }

  #group({ triage: text, notes, ...row }: GroupRow): Group {
    const triage: Triage = text === null ? UNTRIAGED : JSON.parse(text)
    const now = this.#connection.options.clock.now()
    return {
      ...row,
      rule: row.rule as Group['rule'],
      category: row.category as Category,
      triage,
      ...currentTriage(triage, row.lastSeenAt, now),
      notes: JSON.parse(notes),
    }
  }
}
