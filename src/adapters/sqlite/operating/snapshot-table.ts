import type { SnapshotRow, WantedRows } from '../../../adapter-kit/snapshots/rows.ts'
import type { Database } from '../connection/database.ts'

/**
 * Snapshots of channels. Queries go channel by channel along the index, because one query for all channels would read the
 * whole table.
 */
export class SnapshotTable {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  put(rows: readonly SnapshotRow[]): void {
    for (const [channel, at, body] of rows)
      this.#db.run`insert or replace into snapshots(channel, at, body) values(${channel}, ${at}, ${body})`
  }

  /** Deletes at most this many snapshots from before a time. Returns their number. */
  purge(before: number, most: number): number {
    let deleted = 0
    for (const channel of this.#channels()) {
      if (deleted === most) break
      deleted += this.#db.run`delete from snapshots where channel = ${channel} and at in
        (select at from snapshots where channel = ${channel} and at < ${before} order by at limit ${most - deleted})`
    }
    return deleted
  }

  channels(): readonly string[] {
    return [...this.#channels()]
  }

  /** The newest of each channel first. */
  list(channels: readonly string[], { after, before, perChannel }: WantedRows): readonly string[] {
    return channels.flatMap(channel =>
      this.#db.all<{ body: string }>`select body from snapshots
        where channel = ${channel} and at >= ${after} and at < ${before} order by at desc limit ${perChannel}`.map(
        ({ body }) => body,
      ),
    )
  }

  *#channels(): Generator<string> {
    for (let channel: string | undefined = ''; ; ) {
      channel = this.#db.get<{ channel: string }>`select channel from snapshots
        where channel > ${channel} order by channel limit 1`?.channel
      if (channel === undefined) return
      yield channel
    }
  }
}
