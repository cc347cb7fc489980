import type { DatabaseSync } from 'node:sqlite'
import type { SnapshotRow, WantedRows } from '../../../adapter-kit/snapshots/rows.ts'
import { all } from '../connection/rows.ts'

/** What is asked of one channel after the other walks the index; all channels at once would read the whole table. */
class Channels {
  readonly #next

  constructor(db: DatabaseSync) {
    this.#next = db.prepare('select channel from snapshots where channel > ? order by channel limit 1')
  }

  *all(): Generator<string> {
    for (let channel: string | undefined = ''; ; ) {
      channel = (this.#next.get(channel) as { channel: string } | undefined)?.channel
      if (channel === undefined) return
      yield channel
    }
  }
}

export class SnapshotTable {
  readonly #channels
  readonly #put
  readonly #purge

  constructor(db: DatabaseSync) {
    this.#channels = new Channels(db)
    this.#put = db.prepare('insert or replace into snapshots(channel, at, body) values(?, ?, ?)')
    this.#purge = db.prepare(
      `delete from snapshots where channel = ?1 and at in
         (select at from snapshots where channel = ?1 and at < ?2 order by at limit ?3)`,
    )
  }

  put(rows: readonly SnapshotRow[]): void {
    for (const row of rows) this.#put.run(...row)
  }

  purge(before: number, most: number): number {
    let deleted = 0
    for (const channel of this.#channels.all()) {
      if (deleted === most) break
      deleted += Number(this.#purge.run(channel, before, most - deleted).changes)
    }
    return deleted
  }
}

export class SnapshotReader {
  readonly #channels
  readonly #newest

  constructor(db: DatabaseSync) {
    this.#channels = new Channels(db)
    this.#newest = db.prepare(
      'select body from snapshots where channel = ? and at >= ? and at < ? order by at desc limit ?',
    )
  }

  channels(): readonly string[] {
    return [...this.#channels.all()]
  }

  list(channels: readonly string[], { after, before, perChannel }: WantedRows): readonly string[] {
    return channels.flatMap(channel =>
      all<{ body: string }>(this.#newest, channel, after, before, perChannel).map(({ body }) => body),
    )
  }
}
