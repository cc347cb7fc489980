import { isHeld, type LetterState } from '../../../core/dead-letter/state.ts'
import type { Database } from '../connection/database.ts'
import type { Cached } from '../connection/writer-context.ts'
import type { GroupCounts, GroupTable } from './group-table.ts'

/** The most facets in memory between transactions. With more, the fingerprints do not group letters anyway. */
const MAX_REMEMBERED = 20_000

/** What filters compare and lists are sorted by, apart from times. Its JSON is the key of a facet. */
export type FacetFields = readonly [
  channel: string,
  handler: string,
  type: string,
  reason: string,
  category: string,
  state: string,
  group: string,
  attempts: number,
]

/** The count of all letters that no filter and no order but those by time can distinguish. */
export interface Facet {
  readonly id: number
  readonly key: string
  readonly group: GroupCounts
  readonly state: LetterState
  count: number
  replayed: number
  oldestAt: number
  lastAt: number
  /** The latest or the oldest letter was removed, so the new one must be looked up. */
  mustFindEnds: boolean
}

/**
 * Counts letters when they are added and removed, so that no query has to count them. The counts stay in memory during a
 * transaction and are written once at its end, however many letters it changed.
 */
export class Facets implements Cached {
  readonly #db: Database
  readonly #groups: GroupTable
  readonly #byKey = new Map<string, Facet>()
  readonly #byId = new Map<number, Facet>()
  readonly #changed = new Set<Facet>()

  constructor(db: Database, groups: GroupTable) {
    this.#db = db
    this.#groups = groups
  }

  /** Returns undefined if the group is unknown and not given. */
  of(key: string, group: string | null): Facet | undefined {
    const known = this.#byKey.get(key)
    if (known !== undefined) return known
    const fields = JSON.parse(key) as FacetFields
    const counts = this.#groups.of(fields[6], group)
    return counts && this.#remember(this.#find(key) ?? this.#insert(key, fields), counts)
  }

  /** The facet of a stored letter, whose group is known. */
  byId(id: number): Facet {
    const known = this.#byId.get(id)
    if (known !== undefined) return known
    const row = this.#db.get<FacetRow>`select * from facets where id = ${id}`!
    return this.#remember(row, this.#groups.of(row.grp, null)!)
  }

  add(facet: Facet, at: number, firstAt: number, replayed: number): void {
    facet.oldestAt = Math.min(facet.oldestAt, at)
    facet.lastAt = Math.max(facet.lastAt, at)
    this.#count(facet, 1, replayed)
    const { group } = facet
    group.firstAt = Math.min(group.firstAt, firstAt)
    group.lastAt = Math.max(group.lastAt, at)
  }

  remove(facet: Facet, at: number, replayed: number): void {
    facet.mustFindEnds ||= at >= facet.lastAt || at <= facet.oldestAt
    this.#count(facet, -1, -replayed)
    facet.group.mustFindLatest ||= at >= facet.group.lastAt
  }

  /** Letters there are. Facets that were asked for before may be gone afterwards. */
  total(): number {
    this.#write()
    return this.#db.get<{ total: number }>`select coalesce(sum(count), 0) as total from facets`!.total
  }

  flush(): void {
    this.#write()
    this.#groups.flush()
    if (this.#byKey.size > MAX_REMEMBERED) this.forget()
  }

  forget(): void {
    this.#byKey.clear()
    this.#byId.clear()
    this.#changed.clear()
    this.#groups.forget()
  }

  #count(facet: Facet, count: number, replayed: number): void {
    const { group, state } = facet
    facet.count += count
    facet.replayed += replayed
    this.#changed.add(facet)
    group.count += count
    group.replayed += replayed
    if (isHeld(state)) group.waiting += count
    if (state === 'resolved') group.recovered += replayed
    this.#groups.changed.add(group)
  }

  #write(): void {
    for (const facet of this.#changed) {
      if (facet.mustFindEnds && facet.count > 0) this.#findEnds(facet)
      const { id, key, count, replayed, oldestAt, lastAt } = facet
      if (count > 0)
        this.#db.run`update facets set count = ${count}, replayed = ${replayed}, oldest_at = ${oldestAt},
          last_at = ${lastAt} where id = ${id}`
      else {
        this.#db.run`delete from facets where id = ${id}`
        this.#byId.delete(id)
        this.#byKey.delete(key)
      }
    }
    this.#changed.clear()
  }

  #findEnds(facet: Facet): void {
    const { oldest, latest } = this.#db.get<{ oldest: number; latest: number }>`
      select (select min(at) from letters where facet = ${facet.id}) as oldest,
      (select max(at) from letters where facet = ${facet.id}) as latest`!
    facet.oldestAt = oldest
    facet.lastAt = latest
    facet.mustFindEnds = false
  }

  #find(key: string): FacetRow | undefined {
    return this.#db.get`select * from facets where key = ${key}`
  }

  #insert(key: string, fields: FacetFields): FacetRow {
    const [channel, handler, type, reason, category, state, group, attempts] = fields
    return this.#db.get<FacetRow>`
      insert into facets(key, channel, handler, type, reason, category, state, grp, attempts, count, replayed,
        oldest_at, last_at)
      values(${key}, ${channel}, ${handler}, ${type}, ${reason}, ${category}, ${state}, ${group}, ${attempts}, 0, 0, 0, 0)
      returning *`!
  }

  #remember(row: FacetRow, group: GroupCounts): Facet {
    const { id, key, state, count, replayed, last_at: lastAt } = row
    const oldestAt = count === 0 ? Number.POSITIVE_INFINITY : row.oldest_at
    const facet = { id, key, group, state, count, replayed, oldestAt, lastAt, mustFindEnds: false }
    this.#byKey.set(key, facet)
    this.#byId.set(id, facet)
    return facet
  }
}

export interface FacetRow {
  readonly id: number
  readonly key: string
  readonly channel: string
  readonly handler: string
  readonly reason: string
  readonly grp: string
  readonly state: LetterState
  readonly count: number
  readonly replayed: number
  readonly oldest_at: number
  readonly last_at: number
}
