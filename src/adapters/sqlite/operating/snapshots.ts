import { resolvePurge } from '../../../adapter-kit/query/snapshot-query.ts'
import { resolveSnapshots } from '../../../adapter-kit/snapshots/check.ts'
import { listRows, portionsOf, purgeRows, rowOf } from '../../../adapter-kit/snapshots/rows.ts'
import type { ChannelSnapshot, SnapshotQuery, Snapshots } from '../../../ports/snapshots.ts'
import type { Session } from '../connection/connection.ts'

/** Snapshots of channels. Each portion checks that the store is still open. */
export class SqliteSnapshots implements Snapshots {
  readonly #session: Session

  constructor(session: Session) {
    this.#session = session
  }

  async append(snapshots: readonly ChannelSnapshot[]): Promise<void> {
    this.#session.requireOpen()
    for (const portion of portionsOf(resolveSnapshots(snapshots)))
      await this.#session.connection.write('snapshots', 'put', portion.map(rowOf))
  }

  async list(query?: SnapshotQuery): Promise<readonly ChannelSnapshot[]> {
    return await listRows(
      {
        channels: () => this.#session.connection.read('snapshots', 'channels'),
        bodies: (channels, wanted) => this.#session.connection.read('snapshots', 'list', channels, wanted),
      },
      query,
    )
  }

  async purge(before: number): Promise<number> {
    const bound = resolvePurge(before)
    return await purgeRows(most => this.#session.connection.write('snapshots', 'purge', bound, most))
  }
}
