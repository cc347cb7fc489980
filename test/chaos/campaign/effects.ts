import { DatabaseSync } from 'node:sqlite'

/**
 * What handlers have done to the world, in a database of its own. An effect and the fact that it happened are one
 * transaction, as a service keeps them that must not do anything twice; a second one is refused and counted.
 */
export class Effects {
  readonly #database: DatabaseSync

  constructor(path: string) {
    this.#database = new DatabaseSync(path)
    // It must outlive the process, not the machine.
    this.#database.exec(`pragma journal_mode = wal; pragma synchronous = off; pragma busy_timeout = 5000;
      create table if not exists effects (id text primary key, life integer not null) strict;
      create table if not exists again (id text not null, life integer not null, first integer not null) strict`)
  }

  /** In which life of the consumer it happened. */
  happen(id: string, life: number): void {
    const { changes } = this.#database
      .prepare('insert or ignore into effects (id, life) values (?, ?)')
      .run(id, life)
    if (changes === 0)
      this.#database.prepare('insert into again select id, ?, life from effects where id = ?').run(life, id)
  }

  get count(): number {
    return Number(this.#database.prepare('select count(*) as n from effects').get()?.['n'])
  }

  /** In the order in which they happened. */
  ids(): Set<string> {
    return new Set(
      this.#database
        .prepare('select id from effects order by rowid')
        .all()
        .map(row => String(row['id'])),
    )
  }

  /** Second runs after their process was killed between the effect and the ledger's entry; and all others. */
  repeats(): { readonly afterKill: number; readonly unexplained: number } {
    const rows = this.#database.prepare('select life, first from again').all()
    const afterKill = rows.filter(row => Number(row['life']) > Number(row['first'])).length
    return { afterKill, unexplained: rows.length - afterKill }
  }

  /** In which life the first run was, for every second run. */
  firstRuns(): readonly number[] {
    return this.#database
      .prepare('select first from again')
      .all()
      .map(row => Number(row['first']))
  }

  close(): void {
    this.#database.close()
  }
}
