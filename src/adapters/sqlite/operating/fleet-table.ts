import type { InstanceRow } from '../../../adapter-kit/fleet/check-report.ts'
import type { Database } from '../connection/database.ts'

interface StoredInstance extends Omit<InstanceRow, 'hasLeft'> {
  readonly hasLeft: number
}

/** The processes of the fleet. Each has one row with its last report. */
export class FleetTable {
  readonly #db: Database
  readonly #context: { readonly now: number }

  constructor(db: Database, context: { readonly now: number }) {
    this.#db = db
    this.#context = context
  }

  put(id: string, body: string, leaseMs: number): void {
    this.#db.run`insert or replace into instances(id, body, seen_at, lease_ms, has_left)
      values(${id}, ${body}, ${this.#context.now}, ${leaseMs}, 0)`
  }

  leave(id: string): void {
    this.#db
      .run`update instances set has_left = 1, seen_at = ${this.#context.now} where id = ${id} and has_left = 0`
  }

  /** All rows, and the time at which they were read. */
  list(): { readonly rows: readonly InstanceRow[]; readonly now: number } {
    const rows = this.#db
      .all<StoredInstance>`select body, seen_at as seenAt, lease_ms as leaseMs, has_left as hasLeft
      from instances`
    return { rows: rows.map(row => ({ ...row, hasLeft: row.hasLeft === 1 })), now: this.#context.now }
  }

  purge(before: number): number {
    return this.#db.run`delete from instances where seen_at < ${before}
      and (has_left = 1 or abs(${this.#context.now} - seen_at) >= lease_ms)`
  }
}
