import { selectSnapshots } from '../../ports/snapshot-query.ts'
import type { ChannelSnapshot, SnapshotQuery, Snapshots } from '../../ports/snapshots.ts'

/** For a store that keeps none itself: they last as long as the server. */
export class KeptSnapshots implements Snapshots {
  #all: readonly ChannelSnapshot[] = []

  async append(snapshots: readonly ChannelSnapshot[]): Promise<void> {
    this.#all = [...this.#all, ...snapshots]
  }

  async list(query?: SnapshotQuery): Promise<readonly ChannelSnapshot[]> {
    return selectSnapshots(this.#all, query)
  }

  async purge(before: number): Promise<number> {
    const count = this.#all.length
    this.#all = this.#all.filter(({ at }) => at >= before)
    return count - this.#all.length
  }
}
