import type { DatabaseSync } from 'node:sqlite'
import type { GroupPlace } from '../../../adapter-kit/query/group-query.ts'
import { currentTriage, UNTRIAGED } from '../../../core/dead-letter/group.ts'
import type { GroupQuery } from '../../../ports/groups.ts'
import type { GroupRow } from '../connection/calls.ts'
import { all } from '../connection/rows.ts'

const MOST_CHANNELS = 20

type StoredGroup = Omit<GroupRow, 'channels'>

const SELECTED = `select g.id, g.title, g.rule, g.basis, g.category, g.count, g.waiting, g.replayed, g.recovered,
  g.first_at as firstSeenAt, g.last_at as lastSeenAt, t.triage, coalesce(t.notes, '[]') as notes
  from groups g left join triages t on t.grp = g.id where g.count > 0`

/** Groups are counted as letters come and go, so that a page of them costs what it shows. */
export class GroupReader {
  readonly #get
  readonly #list
  readonly #channels

  constructor(db: DatabaseSync) {
    this.#get = db.prepare(`${SELECTED} and g.id = ?`)
    // Last seen first, of the same time the lesser id first.
    this.#list = db.prepare(
      `${SELECTED} and (g.last_at < ? or (g.last_at = ? and g.id > ?))
       and (? is null or exists(select 1 from facets f where f.grp = g.id and f.channel = ? and f.count > 0))
       and (? is null or instr(g.search, ?) > 0)
       order by g.last_at desc, g.id`,
    )
    this.#channels = db.prepare(
      `select channel from facets where grp = ? and count > 0
       group by channel order by sum(count) desc, channel limit ${MOST_CHANNELS}`,
    )
  }

  get(id: string): GroupRow | undefined {
    const row = this.#get.get(id) as unknown as StoredGroup | undefined
    return row && this.#withChannels(row)
  }

  /** What state a group is in depends on the time of asking, so that is not left to the database. */
  list(
    { state, channel, search, limit }: GroupQuery & { readonly limit: number },
    behind: GroupPlace | undefined,
    now: number,
  ): readonly GroupRow[] {
    const at = behind?.lastSeenAt ?? Number.POSITIVE_INFINITY
    const text = search?.toLowerCase() ?? null
    const of = channel ?? null
    const groups: GroupRow[] = []
    for (const each of this.#list.iterate(at, at, behind?.id ?? '', of, of, text, text)) {
      const row = each as unknown as StoredGroup
      if (state !== undefined && stateOf(row, now) !== state) continue
      groups.push(this.#withChannels(row))
      if (groups.length > limit) break
    }
    return groups
  }

  #withChannels(row: StoredGroup): GroupRow {
    const channels = all<{ channel: string }>(this.#channels, row.id)
    return { ...row, channels: channels.map(({ channel }) => channel) }
  }
}

function stateOf({ triage, lastSeenAt }: StoredGroup, now: number) {
  return currentTriage(triage === null ? UNTRIAGED : JSON.parse(triage), lastSeenAt, now).state
}
