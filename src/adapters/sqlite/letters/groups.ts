import { groupCursor, resolveGroupQuery } from '../../../adapter-kit/query/group-query.ts'
import { pageOf } from '../../../adapter-kit/query/page.ts'
import { currentTriage, type Triage, UNTRIAGED } from '../../../core/dead-letter/group.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Group, GroupPage, GroupQuery, Groups, TriageChange } from '../../../ports/groups.ts'
import type { Session } from '../connection/connection.ts'
import type { GroupRow } from './group-table.ts'

export class SqliteGroups implements Groups {
  readonly #session: Session
  readonly #clock: Clock

  constructor(session: Session, clock: Clock) {
    this.#session = session
    this.#clock = clock
  }

  async list(query?: GroupQuery): Promise<GroupPage> {
    const { connection } = this.#session
    const { startAfter, ...wanted } = resolveGroupQuery(query)
    const rows = await connection.read('groups', 'list', wanted, startAfter)
    const { shown, cursor } = pageOf(rows, wanted.limit, last => groupCursor(last, query ?? {}))
    return { groups: shown.map(row => this.#group(row)), cursor }
  }

  async get(id: string): Promise<Group | undefined> {
    const row = await this.#session.connection.read('groups', 'get', id)
    return row && this.#group(row)
  }

  async change(id: string, change: TriageChange): Promise<Group | undefined> {
    return (await this.#session.connection.write('groups', 'change', id, change)) ? this.get(id) : undefined
  }

  #group({ triage: text, notes, ...row }: GroupRow): Group {
    const triage: Triage = text === null ? UNTRIAGED : JSON.parse(text)
    return {
      ...row,
      triage,
      ...currentTriage(triage, row.lastSeenAt, this.#clock.now()),
      notes: JSON.parse(notes),
    }
  }
}
