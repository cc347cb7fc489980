import type { Door } from '../../../adapter-kit/door.ts'
import { groupCursor, resolveGroupQuery, talkAfter } from '../../../adapter-kit/query/group-query.ts'
import { currentTriage, type Triage, UNTRIAGED } from '../../../core/dead-letter/group.ts'
import type { Clock } from '../../../ports/clock.ts'
import type { Group, GroupNote, GroupPage, GroupQuery, Groups, TriageChange } from '../../../ports/groups.ts'
import { ask, inTransaction } from '../connection/ask.ts'
import type { PgPool } from '../connection/client.ts'
import { holdable } from '../connection/text.ts'
import { channelsOf, type GroupRow, readGroup, readGroups } from './group-rows.ts'

/** Groups are counted from the letters when somebody asks; what people say of them is a row of its own. */
export class PostgresGroups implements Groups {
  readonly #pool: PgPool
  readonly #clock: Clock
  readonly #door: Door

  constructor(pool: PgPool, clock: Clock, door: Door) {
    this.#pool = pool
    this.#clock = clock
    this.#door = door
  }

  async list(query?: GroupQuery): Promise<GroupPage> {
    this.#door.requireOpen()
    const { state, limit, behind: place, ...wanted } = resolveGroupQuery(query)
    const found: GroupRow[] = []
    let behind = place
    // What state a group is in depends on the time of asking, so that is not left to the database.
    for (let isMore = true; isMore && found.length <= limit; ) {
      const rows = await readGroups(this.#pool, wanted, behind, limit + 1)
      found.push(...rows.filter(row => state === undefined || this.#triageOf(row).state === state))
      behind = rows.at(-1)
      isMore = rows.length > limit
    }
    const groups = await this.#withChannels(found.slice(0, limit))
    const last = groups.at(-1)
    const hasMore = found.length > limit && last !== undefined
    return { groups, cursor: hasMore ? groupCursor(last, query ?? {}) : undefined }
  }

  async get(id: string): Promise<Group | undefined> {
    this.#door.requireOpen()
    const row = await readGroup(this.#pool, id)
    return row && (await this.#withChannels([row]))[0]
  }

  async change(id: string, change: TriageChange): Promise<Group | undefined> {
    this.#door.requireOpen()
    const isChanged = await inTransaction(this.#pool, 'changing a group', async client => {
      const { rows } = await ask(
        client,
        'changing a group',
        `select triage::text as triage, notes::text as notes from lazaret.groups g
         where id = $1 and exists (select from lazaret.dead_letters where group_id = g.id) for update`,
        [holdable(id)],
      )
      if (rows.length === 0) return false
      const before = { triage: triageIn(rows[0]), notes: JSON.parse(rows[0].notes) }
      const { triage, notes } = talkAfter(before, change)
      await ask(
        client,
        'changing a group',
        'update lazaret.groups set triage = $2, notes = $3 where id = $1',
        [id, JSON.stringify(triage), JSON.stringify(notes)],
      )
      return true
    })
    return isChanged ? this.get(id) : undefined
  }

  #triageOf(row: GroupRow) {
    const triage = triageIn(row)
    return { triage, ...currentTriage(triage, row.lastSeenAt, this.#clock.now()) }
  }

  async #withChannels(rows: readonly GroupRow[]): Promise<Group[]> {
    const channels = await channelsOf(
      this.#pool,
      rows.map(({ id }) => id),
    )
    return rows.map(row => ({
      ...row,
      ...this.#triageOf(row),
      channels: channels.get(row.id) ?? [],
      notes: JSON.parse(row.notes) as GroupNote[],
    }))
  }
}

function triageIn({ triage }: Pick<GroupRow, 'triage'>): Triage {
  return triage === null ? UNTRIAGED : JSON.parse(triage)
}
