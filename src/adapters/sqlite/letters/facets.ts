import type { DatabaseSync } from 'node:sqlite'
import { isHeld, type LetterState } from '../../../core/dead-letter/state.ts'
import type { Part } from '../connection/part.ts'
import { type GroupCounts, GroupTable } from './group-table.ts'

/** More are not kept in memory between transactions; with so many, the fingerprints tell nothing apart anyway. */
const MOST_REMEMBERED = 20_000

/** All letters that no filter can tell apart, counted. */
export interface Facet {
  readonly id: number
  readonly key: string
  readonly group: GroupCounts
  readonly state: LetterState
  count: number
  replayed: number
  oldestAt: number
  lastAt: number
  /** Its latest or its oldest letter went; which one is that now has to be looked up. */
  lostAnEnd: boolean
}

/** What is counted of a letter. */
interface Counted {
  readonly at: number
  readonly firstAt: number
  readonly replayed: number
}

/**
 * Counts letters as they come and go, so that nobody ever has to. Counts are kept in memory during a transaction and
 * written once at its end, however many letters it had.
 */
export class Facets implements Part {
  readonly #groups: GroupTable
  readonly #byKey = new Map<string, Facet>()
  readonly #byId = new Map<number, Facet>()
  readonly #changed = new Set<Facet>()
  readonly #find
  readonly #findById
  readonly #insert
  readonly #update
  readonly #delete
  readonly #ends
  readonly #total

  constructor(db: DatabaseSync) {
    this.#groups = new GroupTable(db)
    this.#find = db.prepare('select * from facets where key = ?')
    this.#findById = db.prepare('select * from facets where id = ?')
    this.#insert = db.prepare(
      `insert into facets(key, channel, handler, type, reason, category, state, grp, count, replayed, oldest_at, last_at)
       values(?, ?, ?, ?, ?, ?, ?, ?, 0, 0, 0, 0)`,
    )
    this.#update = db.prepare(
      'update facets set count = ?, replayed = ?, oldest_at = ?, last_at = ? where id = ?',
    )
    this.#delete = db.prepare('delete from facets where id = ?')
    this.#ends = db.prepare(
      `select (select min(at) from letters where facet = ?) as oldest,
       (select max(at) from letters where facet = ?) as latest`,
    )
    this.#total = db.prepare('select coalesce(sum(count), 0) as total from facets')
  }

  /** Undefined when its group is not known and was not told. */
  of(key: string, group: string | null): Facet | undefined {
    const known = this.#byKey.get(key)
    if (known !== undefined) return known
    const fields = JSON.parse(key) as string[]
    const counts = this.#groups.of(fields[6]!, group)
    if (counts === undefined) return undefined
    if (this.#find.get(key) === undefined) this.#insert.run(key, ...fields)
    return this.#remember(this.#find.get(key) as unknown as FacetRow, counts)
  }

  /** Of a letter that is there, and so is its group. */
  byId(id: number): Facet {
    const known = this.#byId.get(id)
    if (known !== undefined) return known
    const row = this.#findById.get(id) as unknown as FacetRow
    return this.#remember(row, this.#groups.of(row.grp, null)!)
  }

  add(facet: Facet, { at, firstAt, replayed }: Counted): void {
    facet.count++
    facet.replayed += replayed
    facet.oldestAt = Math.min(facet.oldestAt, at)
    facet.lastAt = Math.max(facet.lastAt, at)
    this.#changed.add(facet)
    const { group } = facet
    this.#count(facet, 1, replayed)
    group.firstAt = Math.min(group.firstAt, firstAt)
    group.lastAt = Math.max(group.lastAt, at)
  }

  remove(facet: Facet, { at, replayed }: Counted): void {
    facet.count--
    facet.replayed -= replayed
    facet.lostAnEnd ||= at >= facet.lastAt || at <= facet.oldestAt
    this.#changed.add(facet)
    this.#count(facet, -1, -replayed)
    facet.group.lostLatest ||= at >= facet.group.lastAt
  }

  /** Letters there are. Facets that were asked for before may be gone afterwards. */
  total(): number {
    this.#write()
    return (this.#total.get() as { total: number }).total
  }

  flush(): void {
    this.#write()
    this.#groups.flush()
    if (this.#byKey.size > MOST_REMEMBERED) this.forget()
  }

  forget(): void {
    this.#byKey.clear()
    this.#byId.clear()
    this.#changed.clear()
    this.#groups.forget()
  }

  #count({ group, state }: Facet, count: number, replayed: number): void {
    group.count += count
    group.replayed += replayed
    if (isHeld(state)) group.waiting += count
    if (state === 'resolved') group.recovered += replayed
    this.#groups.changed.add(group)
  }

  #write(): void {
    for (const facet of this.#changed) {
      if (facet.count === 0) {
        this.#delete.run(facet.id)
        this.#byId.delete(facet.id)
        this.#byKey.delete(facet.key)
        continue
      }
      if (facet.lostAnEnd) this.#findEnds(facet)
      this.#update.run(facet.count, facet.replayed, facet.oldestAt, facet.lastAt, facet.id)
    }
    this.#changed.clear()
  }

  #findEnds(facet: Facet): void {
    const { oldest, latest } = this.#ends.get(facet.id, facet.id) as { oldest: number; latest: number }
    facet.oldestAt = oldest
    facet.lastAt = latest
    facet.lostAnEnd = false
  }

  #remember(row: FacetRow, group: GroupCounts): Facet {
    const { id, key, state, count, replayed, last_at: lastAt } = row
    const oldestAt = count === 0 ? Number.POSITIVE_INFINITY : row.oldest_at
    const facet = { id, key, group, state, count, replayed, oldestAt, lastAt, lostAnEnd: false }
    this.#byKey.set(key, facet)
    this.#byId.set(id, facet)
    return facet
  }
}

interface FacetRow {
  readonly id: number
  readonly key: string
  readonly grp: string
  readonly state: LetterState
  readonly count: number
  readonly replayed: number
  readonly oldest_at: number
  readonly last_at: number
}
