import { currentTriage, type Triage, UNTRIAGED } from '../../../core/dead-letter/group.ts'
import type { Category } from '../../../core/failure/failure.ts'
import { OptionsError } from '../../../core/options/faults.ts'
import { resolveOptions } from '../../../core/options/resolve.ts'
import { integer, oneOf, optional, text, withDefault } from '../../../core/options/rules.ts'
import type { Group, GroupPage, GroupQuery, Groups, TriageChange } from '../../../ports/groups.ts'
import { DEFAULT_PAGE_LIMIT, MAX_PAGE_LIMIT } from '../../../ports/letter-query.ts'
import type { GroupPlace, GroupRow } from '../calls.ts'
import type { Connection } from './connection.ts'
import type { Door } from './door.ts'

const queryRules = {
  state: optional(oneOf('open', 'acknowledged', 'muted', 'resolved')),
  channel: optional(text()),
  search: optional(text()),
  limit: withDefault(integer({ min: 1, max: MAX_PAGE_LIMIT }), DEFAULT_PAGE_LIMIT),
  cursor: optional(text()),
}

export class SqliteGroups implements Groups {
  readonly #connection: Connection
  readonly #door: Door

  constructor(connection: Connection, door: Door) {
    this.#connection = connection
    this.#door = door
  }

  async list(query?: GroupQuery): Promise<GroupPage> {
    this.#door.requireOpen()
    const { cursor, ...wanted } = resolveOptions('query', queryRules, query)
    const behind = cursor === undefined ? undefined : readCursor(cursor)
    const rows = await this.#connection.read('listGroups', wanted, behind)
    const groups = rows.slice(0, wanted.limit).map(row => this.#group(row))
    const last = groups.at(-1)
    const hasMore = rows.length > wanted.limit && last !== undefined
    return { groups, cursor: hasMore ? `${last.lastSeenAt}_${last.id}` : undefined }
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

function readCursor(cursor: string): GroupPlace {
  const [, time, id] = /^(-?[\d.]+(?:e[+-]?\d+)?)_(.+)$/.exec(cursor) ?? []
  if (id !== undefined) return { lastSeenAt: Number(time), id }
  const remedy = 'give the cursor of the page before'
  throw new OptionsError('query', [{ path: 'query.cursor', received: JSON.stringify(cursor), remedy }])
}
