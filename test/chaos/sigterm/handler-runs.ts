import { DatabaseSync } from 'node:sqlite'
import { systemClock } from '../../../src/ports/clock.ts'

/** How the runs of one event came out. */
export interface RunCounts {
  readonly event: string
  readonly effects: number
  /** Effects that came after another one of the event that had not outlived the grace time of its process. */
  readonly effectsAgain: number
  /** Runs that failed within the grace time of their process, if it was closing at all. */
  readonly failures: number
}

/**
 * Every run of the handler and how it ended, in a database of its own. Nothing keeps an effect from happening twice: each is
 * written down with its run.
 */
export class HandlerRuns {
  readonly #database: DatabaseSync

  constructor(path: string) {
    this.#database = new DatabaseSync(path)
    // It must outlive the process, not the machine.
    this.#database.exec(`pragma journal_mode = wal; pragma synchronous = off; pragma busy_timeout = 5000;
      create table if not exists runs (run integer primary key, event text not null, process text not null,
        began integer not null, ended integer, had_effect integer, outlived integer) strict`)
  }

  begin(event: string, process: string): number {
    const { lastInsertRowid } = this.#database
      .prepare('insert into runs (event, process, began) values (?, ?, ?)')
      .run(event, process, systemClock.now())
    return Number(lastInsertRowid)
  }

  /** `hasOutlived`: the grace time of its process was over. */
  end(run: number, hadEffect: boolean, hasOutlived: boolean): void {
    this.#database
      .prepare('update runs set ended = ?, had_effect = ?, outlived = ? where run = ?')
      .run(systemClock.now(), Number(hadEffect), Number(hasOutlived), run)
  }

  /** Events that have had their effect. */
  get handled(): number {
    return this.#count('select count(distinct event) as n from runs where had_effect = 1')
  }

  /** When a run last began or ended. */
  get changedAt(): number {
    return this.#count('select max(coalesce(max(began), 0), coalesce(max(ended), 0)) as n from runs')
  }

  /** Runs that the grace time did not suffice for; those that never ended went with their process. */
  get outlived(): number {
    return this.#count('select count(*) as n from runs where outlived = 1 or ended is null')
  }

  /** Runs that began while another one of their event was going on, in any process. */
  get overlaps(): number {
    return this.#count(`select count(*) as n from runs a join runs b on a.event = b.event and a.run < b.run
      where b.began < a.ended and a.outlived = 0`)
  }

  counts(): RunCounts[] {
    return this.#database
      .prepare(`select event, sum(had_effect = 1) as effects, sum(had_effect = 0 and outlived = 0) as failures,
          sum(had_effect = 1 and exists (select 1 from runs b where b.event = a.event and b.ended < a.ended
            and b.had_effect = 1 and b.outlived = 0)) as again
        from runs a group by event`)
      .all()
      .map(row => ({
        event: String(row['event']),
        effects: Number(row['effects']),
        effectsAgain: Number(row['again']),
        failures: Number(row['failures']),
      }))
  }

  #count(sql: string): number {
    return Number(this.#database.prepare(sql).get()?.['n'])
  }

  close(): void {
    this.#database.close()
  }
}
