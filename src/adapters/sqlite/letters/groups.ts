import { groupCursor, resolveGroupQuery } from '../../../adapter-kit/query/group-query.ts'
import { pageOf } from '../../../adapter-kit/query/page.ts'
import { currentTriage, type Triage, UNTRIAGED } from '../../../core/dead-letter/group.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Group, Groups } from '../../../ports/groups.ts'
import type { Session } from '../connection/connection.ts'
import type { GroupRow } from './group-table.ts'

export function sqliteGroups(session: Session, clock: Clock): Groups {
  const groups: Groups = {
    async list(query) {
      const { connection } = session
      const { startAfter, ...wanted } = resolveGroupQuery(query)
      const rows = await connection.read('groups', 'list', wanted, startAfter)
      const { shown, cursor } = pageOf(rows, wanted.limit, last => groupCursor(last, query ?? {}))
      return { groups: shown.map(toGroup), cursor }
    },

    async get(id) {
      const row = await session.connection.read('groups', 'get', id)
      return row && toGroup(row)
    },

    async change(id, change) {
      return (await session.connection.write('groups', 'change', id, change)) ? groups.get(id) : undefined
    },
  }
  return groups

  function toGroup({ triage: text, notes, ...row }: GroupRow): Group {
    const triage: Triage = text === null ? UNTRIAGED : JSON.parse(text)
    return {
      ...row,
      triage,
      ...currentTriage(triage, row.lastSeenAt, clock.now()),
      notes: JSON.parse(notes),
    }
  }
}
