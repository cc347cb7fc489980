import type { Door } from '../../../adapter-kit/door.ts'
import { resolvePurge } from '../../../adapter-kit/query/snapshot-query.ts'
import { resolveSnapshots } from '../../../adapter-kit/snapshots/check.ts'
import { listRows, portionsOf, purgeRows, rowOf } from '../../../adapter-kit/snapshots/rows.ts'
import type { ChannelSnapshot, SnapshotQuery, Snapshots } from '../../../ports/snapshots.ts'
import type { Connection } from '../connection/connection.ts'

export class SqliteSnapshots implements Snapshots {
  readonly #connection: Connection
  readonly #door: Door

  constructor(connection: Connection, door: Door) {
    this.#connection = connection
    this.#door = door
  }

  async append(snapshots: readonly ChannelSnapshot[]): Promise<void> {
    this.#door.requireOpen()
    for (const portion of portionsOf(resolveSnapshots(snapshots)))
      await this.#open.writer.call('putSnapshots', portion.map(rowOf))
  }

  async list(query?: SnapshotQuery): Promise<readonly ChannelSnapshot[]> {
    return await listRows(
      {
        channels: () => this.#open.read('snapshotChannels'),
        bodies: (channels, wanted) => this.#open.read('listSnapshots', channels, wanted),
      },
      query,
    )
  }

  async purge(before: number): Promise<number> {
    const bound = resolvePurge(before)
    return await purgeRows(most => this.#open.writer.call('purgeSnapshots', bound, most))
  }

  get #open(): Connection {
    this.#door.requireOpen()
    return this.#connection
  }
}
