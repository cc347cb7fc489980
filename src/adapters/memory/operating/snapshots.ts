import type { OpenState } from '../../../adapter-kit/open-state.ts'
import { resolvePurge, selectSnapshots } from '../../../adapter-kit/query/snapshot-query.ts'
import { resolveSnapshots } from '../../../adapter-kit/snapshots/check.ts'
import type { ChannelSnapshot, SnapshotQuery, Snapshots } from '../../../ports/snapshots.ts'

export class MemorySnapshots implements Snapshots {
  readonly #byMoment = new Map<string, ChannelSnapshot>()
  readonly #door: OpenState

  constructor(door: OpenState) {
    this.#door = door
  }

  async append(snapshots: readonly ChannelSnapshot[]): Promise<void> {
    this.#door.requireOpen()
    for (const snapshot of resolveSnapshots(snapshots))
      this.#byMoment.set(`${snapshot.at} ${snapshot.channel}`, snapshot)
  }

  async list(query?: SnapshotQuery): Promise<readonly ChannelSnapshot[]> {
    this.#door.requireOpen()
    return selectSnapshots(this.#byMoment.values(), query)
  }

  async purge(before: number): Promise<number> {
    this.#door.requireOpen()
    const bound = resolvePurge(before)
    const past = [...this.#byMoment].filter(([, { at }]) => at < bound)
    for (const [moment] of past) this.#byMoment.delete(moment)
    return past.length
  }
}
