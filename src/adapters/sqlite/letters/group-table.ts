import type { DatabaseSync } from 'node:sqlite'
import type { Part } from '../connection/part.ts'

/** What is counted of the letters of one fingerprint. */
export interface GroupCounts {
  readonly id: string
  count: number
  waiting: number
  replayed: number
  recovered: number
  firstAt: number
  lastAt: number
  lostLatest: boolean
}

/** The counts of groups, written once a transaction. A group is there as long as it has letters. */
export class GroupTable implements Part {
  /** Those whose counts are to be written. */
  readonly changed = new Set<GroupCounts>()
  readonly #known = new Map<string, GroupCounts>()
  readonly #find
  readonly #insert
  readonly #update
  readonly #delete
  readonly #latest

  constructor(db: DatabaseSync) {
    this.#find = db.prepare('select * from groups where id = ?')
    this.#insert = db.prepare(
      `insert into groups(id, title, rule, basis, category, search, count, waiting, replayed, recovered, first_at, last_at)
       values(?, ?, ?, ?, ?, ?, 0, 0, 0, 0, 0, 0)`,
    )
    this.#update = db.prepare(
      `update groups set count = ?, waiting = ?, replayed = ?, recovered = ?, first_at = ?, last_at = ?
       where id = ?`,
    )
    this.#delete = db.prepare('delete from groups where id = ?')
    this.#latest = db.prepare('select max(last_at) as at from facets where grp = ?')
  }

  /** `told` is JSON of id, title, rule, basis, category and what is searched; undefined when it is needed and missing. */
  of(id: string, told: string | null): GroupCounts | undefined {
    const known = this.#known.get(id) ?? this.#remember(this.#find.get(id) as GroupCountsRow | undefined)
    if (known !== undefined || told === null) return known
    this.#insert.run(...(JSON.parse(told) as string[]))
    return this.#remember({ id, count: 0, waiting: 0, replayed: 0, recovered: 0, first_at: 0, last_at: 0 })
  }

  flush(): void {
    for (const group of this.changed) {
      if (group.count === 0) {
        this.#delete.run(group.id)
        this.#known.delete(group.id)
        continue
      }
      if (group.lostLatest) group.lastAt = (this.#latest.get(group.id) as { at: number }).at
      group.lostLatest = false
      const { count, waiting, replayed, recovered, firstAt, lastAt, id } = group
      this.#update.run(count, waiting, replayed, recovered, firstAt, lastAt, id)
    }
    this.changed.clear()
  }

  forget(): void {
    this.#known.clear()
    this.changed.clear()
  }

  #remember(row: GroupCountsRow | undefined): GroupCounts | undefined {
    if (row === undefined) return undefined
    const { id, count, waiting, replayed, recovered, last_at: lastAt } = row
    const firstAt = count === 0 ? Number.POSITIVE_INFINITY : row.first_at
    const counts = { id, count, waiting, replayed, recovered, firstAt, lastAt }
    const group = { ...counts, lostLatest: false }
    this.#known.set(id, group)
    return group
  }
}

interface GroupCountsRow {
  readonly id: string
  readonly count: number
  readonly waiting: number
  readonly replayed: number
  readonly recovered: number
  readonly first_at: number
  readonly last_at: number
}
