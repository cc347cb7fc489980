import { applyTriageChange, type GroupPosition, NO_TRIAGE } from '../../../adapter-kit/query/group-query.ts'
import { currentTriage, UNTRIAGED } from '../../../core/dead-letter/group.ts'
import type { GroupTally } from '../../../core/dead-letter/group-tally.ts'
import type { GroupQuery, TriageChange } from '../../../ports/groups.ts'
import type { Database } from '../connection/database.ts'
import type { Cached } from '../connection/writer-context.ts'

const MAX_CHANNELS = 20

/** The counts of the letters with one fingerprint. */
export interface GroupCounts {
  readonly id: string
  count: number
  waiting: number
  replayed: number
  recovered: number
  firstAt: number
  lastAt: number
  mustFindLatest: boolean
}

/** The counts of groups, written once a transaction. A group is there as long as it has letters. */
export class GroupTable implements Cached {
  /** The groups whose counts must be written. */
  readonly changed = new Set<GroupCounts>()
  readonly #db: Database
  readonly #known = new Map<string, GroupCounts>()

  constructor(db: Database) {
    this.#db = db
  }

  /**
   * `told` is the JSON of id, title, rule, basis, category and search text. Returns undefined if it is needed and
   * missing.
   */
  of(id: string, told: string | null): GroupCounts | undefined {
    const known = this.#known.get(id)
    if (known !== undefined) return known
    const row = this.#db.get<GroupCounts>`select id, count, waiting, replayed, recovered, first_at as firstAt,
      last_at as lastAt from groups where id = ${id}`
    if (row === undefined && told === null) return undefined
    const counts = row ?? this.#insert(id, JSON.parse(told!))
    const firstAt = counts.count === 0 ? Number.POSITIVE_INFINITY : counts.firstAt
    const group = { ...counts, firstAt, mustFindLatest: false }
    this.#known.set(id, group)
    return group
  }

  /** Stores the triage of a group. Returns false if no letter has this fingerprint. */
  change(id: string, change: TriageChange): boolean {
    if (this.#db.get`select 1 from groups where id = ${id} and count > 0` === undefined) return false
    const row = this.#db.get<{
      triage: string
      notes: string
    }>`select triage, notes from triages where grp = ${id}`
    const before = row && { triage: JSON.parse(row.triage), notes: JSON.parse(row.notes) }
    const { triage, notes } = applyTriageChange(before ?? NO_TRIAGE, change)
    this.#db.run`insert into triages(grp, triage, notes)
      values(${id}, ${JSON.stringify(triage)}, ${JSON.stringify(notes)})
      on conflict(grp) do update set triage = excluded.triage, notes = excluded.notes`
    return true
  }

  flush(): void {
    for (const group of this.changed) {
      if (group.count === 0) {
        this.#db.run`delete from groups where id = ${group.id}`
        this.#known.delete(group.id)
        continue
      }
      if (group.mustFindLatest)
        group.lastAt = this.#db.get<{
          at: number
        }>`select max(last_at) as at from facets where grp = ${group.id}`!.at
      group.mustFindLatest = false
      const { count, waiting, replayed, recovered, firstAt, lastAt, id } = group
      this.#db.run`update groups set count = ${count}, waiting = ${waiting}, replayed = ${replayed},
        recovered = ${recovered}, first_at = ${firstAt}, last_at = ${lastAt} where id = ${id}`
    }
    this.changed.clear()
  }

  forget(): void {
    this.#known.clear()
    this.changed.clear()
  }

  #insert(
    id: string,
    [, title, rule, basis, category, search]: readonly string[],
  ): Omit<GroupCounts, 'mustFindLatest'> {
    this.#db
      .run`insert into groups(id, title, rule, basis, category, search, count, waiting, replayed, recovered, first_at, last_at)
      values(${id}, ${title!}, ${rule!}, ${basis!}, ${category!}, ${search!}, 0, 0, 0, 0, 0, 0)`
    return { id, count: 0, waiting: 0, replayed: 0, recovered: 0, firstAt: 0, lastAt: 0 }
  }
}

export interface GroupRow extends GroupTally {
  readonly triage: string | null
  readonly notes: string
}

type StoredGroup = Omit<GroupRow, 'channels'>

const SELECTED = `select g.id, g.title, g.rule, g.basis, g.category, g.count, g.waiting, g.replayed, g.recovered,
  g.first_at as firstSeenAt, g.last_at as lastSeenAt, t.triage, coalesce(t.notes, '[]') as notes
  from groups g left join triages t on t.grp = g.id where g.count > 0`

/** Reads groups. Their counts change with the letters, so that the cost of a page depends only on its length. */
export function groupReader(db: Database, context: { readonly now: number }) {
  const withChannels = (row: StoredGroup): GroupRow => {
    const channels = db.all<{
      channel: string
    }>`select channel from facets where grp = ${row.id} and count > 0
      group by channel order by sum(count) desc, channel limit ${MAX_CHANNELS}`
    return { ...row, channels: channels.map(({ channel }) => channel) }
  }
  return {
    get(id: string): GroupRow | undefined {
      for (const row of db.select<StoredGroup>(`${SELECTED} and g.id = ?`, id)) return withChannels(row)
      return undefined
    },

    /**
     * Last seen first, of the same time the lesser id first; one more than the limit when there is a next page. What
     * state a group is in depends on the time of asking, so that is not left to the database.
     */
    list(
      { state, channel, search, limit }: GroupQuery & { readonly limit: number },
      behind: GroupPosition | undefined,
    ): readonly GroupRow[] {
      const at = behind?.lastSeenAt ?? Number.POSITIVE_INFINITY
      const text = search?.toLowerCase() ?? null
      const of = channel ?? null
      const found = db.select<StoredGroup>(
        `${SELECTED} and (g.last_at < ?1 or (g.last_at = ?1 and g.id > ?2))
         and (?3 is null or exists(select 1 from facets f where f.grp = g.id and f.channel = ?3 and f.count > 0))
         and (?4 is null or instr(g.search, ?4) > 0)
         order by g.last_at desc, g.id`,
        at,
        behind?.id ?? '',
        of,
        text,
      )
      const groups: GroupRow[] = []
      for (const row of found) {
        if (state !== undefined && stateOf(row, context.now) !== state) continue
        groups.push(withChannels(row))
        if (groups.length > limit) break
      }
      return groups
    },
  }
}

function stateOf({ triage, lastSeenAt }: StoredGroup, now: number) {
  return currentTriage(triage === null ? UNTRIAGED : JSON.parse(triage), lastSeenAt, now).state
}
