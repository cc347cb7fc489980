import type { OpenState } from '../../../adapter-kit/open-state.ts'
import { resolvePurge, selectSnapshots } from '../../../adapter-kit/query/snapshot-query.ts'
import { resolveSnapshots } from '../../../adapter-kit/snapshots/check.ts'
import type { ChannelSnapshot, Snapshots } from '../../../ports/snapshots.ts'

export function memorySnapshots(door: OpenState): Snapshots {
  const byMoment = new Map<string, ChannelSnapshot>()
  return {
    async append(snapshots) {
      door.requireOpen()
      for (const snapshot of resolveSnapshots(snapshots))
        byMoment.set(`${snapshot.at} ${snapshot.channel}`, snapshot)
    },

    async list(query) {
      door.requireOpen()
      return selectSnapshots(byMoment.values(), query)
    },

    async purge(before) {
      door.requireOpen()
      const bound = resolvePurge(before)
      const past = [...byMoment].filter(([, { at }]) => at < bound)
      for (const [moment] of past) byMoment.delete(moment)
      return past.length
    },
  }
}
