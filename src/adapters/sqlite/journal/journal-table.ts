import type { Database } from '../connection/database.ts'

/** An entry of the journal; its sinks are a JSON list. */
interface JournalRow {
  readonly id: string
  readonly body: string
  readonly sinks: string | null
  readonly job: string | null
}

/** The events of the journal. The number of a row is its position in the order of arrival. */
export class JournalTable {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** Returns false if the journal is full. */
  append({ id, body, sinks, job }: JournalRow, capacity: number): boolean {
    const isKnown = this.#db.get`select 1 from journal where id = ${id}` !== undefined
    if (isKnown && sinks === null) return true
    if (!isKnown && !this.#hasRoom(capacity)) return false
    this.#db
      .run`insert or replace into journal(id, body, sinks, job) values(${id}, ${body}, ${sinks}, ${job})`
    return true
  }

  remove(id: string): void {
    this.#db.run`delete from journal where id = ${id}`
  }

  /** The events in the order of arrival. */
  list(): readonly JournalRow[] {
    return this.#db.all`select id, body, sinks, job from journal order by seq`
  }

  /** Counting reads the whole table. Most of the time the distance between its ends says enough. */
  #hasRoom(capacity: number): boolean {
    const { span } = this.#db.get<{ span: number | null }>`
      select (select max(seq) from journal) - (select min(seq) from journal) + 1 as span`!
    if (span === null || span < capacity) return true
    return this.#db.get<{ count: number }>`select count(*) as count from journal`!.count < capacity
  }
}
