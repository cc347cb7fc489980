import { selectSnapshots } from '../../ports/snapshot-query.ts'
import type { ChannelSnapshot, SnapshotQuery, Snapshots } from '../../ports/snapshots.ts'

export class MemorySnapshots implements Snapshots {
  readonly #byMoment = new Map<string, ChannelSnapshot>()

  async append(snapshots: readonly ChannelSnapshot[]): Promise<void> {
    for (const snapshot of snapshots) this.#byMoment.set(`${snapshot.at} ${snapshot.channel}`, snapshot)
  }

  async list(query?: SnapshotQuery): Promise<readonly ChannelSnapshot[]> {
    return selectSnapshots(this.#byMoment.values(), query)
  }

  async purge(before: number): Promise<number> {
    const past = [...this.#byMoment].filter(([, { at }]) => at < before)
    for (const [moment] of past) this.#byMoment.delete(moment)
    return past.length
  }
}
