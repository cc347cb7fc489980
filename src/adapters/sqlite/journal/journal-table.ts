import type { DatabaseSync } from 'node:sqlite'
import type { JournalRow } from '../connection/calls.ts'

/** Events that are on their way. A row's number is its place in the order of arrival. */
export class JournalTable {
  readonly #find
  readonly #span
  readonly #count
  readonly #put
  readonly #delete

  constructor(db: DatabaseSync) {
    this.#find = db.prepare('select 1 from journal where id = ?')
    this.#span = db.prepare(
      'select (select max(seq) from journal) - (select min(seq) from journal) + 1 as span',
    )
    this.#count = db.prepare('select count(*) as count from journal')
    this.#put = db.prepare('insert or replace into journal(id, body, sinks, job) values(?, ?, ?, ?)')
    this.#delete = db.prepare('delete from journal where id = ?')
  }

  /** False when there is no room for another. */
  append([id, body, sinks, job]: JournalRow, capacity: number): boolean {
    const isKnown = this.#find.get(id) !== undefined
    if (isKnown && sinks === null) return true
    if (!isKnown && !this.#hasRoom(capacity)) return false
    this.#put.run(id, body, sinks, job)
    return true
  }

  remove(id: string): void {
    this.#delete.run(id)
  }

  /** Counting reads the whole table. Most of the time the distance between its ends says enough. */
  #hasRoom(capacity: number): boolean {
    const { span } = this.#span.get() as { span: number | null }
    if (span === null || span < capacity) return true
    return (this.#count.get() as { count: number }).count < capacity
  }
}
