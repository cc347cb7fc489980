import type { Clock } from '../../../ports/clock.ts'
import {
  type ItemStatus,
  NO_COUNTS,
  type Replay,
  type ReplayItem,
  type Replays,
} from '../../../ports/replays.ts'
import { PlanCancelledError, ReplayExistsError } from '../../../ports/store.ts'

interface StoredReplay {
  replay: Replay
  readonly items: ReplayItem[]
  lease: { readonly owner: string; readonly until: number } | undefined
}

export function memoryReplays(clock: Clock): Replays {
  const replays = new Map<string, StoredReplay>()
  return {
    async create(replay, items, signal) {
      if (signal?.aborted) throw new PlanCancelledError()
      if (replays.has(replay.id)) throw new ReplayExistsError(replay.id)
      replays.set(replay.id, { replay, items: [...items], lease: undefined })
    },

    async get(id) {
      return replays.get(id)?.replay
    },

    async list(options = {}) {
      const { state, limit = 100 } = options
      const all = [...replays.values()].map(({ replay }) => replay)
      const wanted = all.filter(replay => state === undefined || replay.state === state)
      return wanted.sort((a, b) => b.createdAt - a.createdAt).slice(0, limit)
    },

    async update(replay) {
      const kept = replays.get(replay.id)
      if (kept === undefined || kept.replay.revision !== replay.revision) return undefined
      kept.replay = { ...replay, revision: replay.revision + 1 }
      return kept.replay
    },

    async items(id, query = {}) {
      const { status, after = -1, limit = Number.POSITIVE_INFINITY } = query
      const items = replays.get(id)?.items ?? []
      const wanted = items.filter(item => item.position > after && (status ?? item.status) === item.status)
      return wanted.slice(0, limit)
    },

    async record(id, items, { delivery, status } = {}) {
      const stored = replays.get(id)?.items
      if (stored === undefined) return
      const isMeant = ({ position }: ReplayItem) => {
        const kept = stored[position]
        return (
          (delivery === undefined || kept?.delivery === delivery) &&
          (status === undefined || kept?.status === status)
        )
      }
      for (const item of items.filter(isMeant)) stored[item.position] = item
    },

    async counts(id) {
      const counts = { ...NO_COUNTS } as { -readonly [S in ItemStatus]: number }
      for (const { status } of replays.get(id)?.items ?? []) counts[status]++
      return counts
    },

    async lease(id, owner, leaseMs) {
      const kept = replays.get(id)
      const now = clock.now()
      if (kept === undefined) return false
      if (kept.lease !== undefined && kept.lease.owner !== owner && kept.lease.until > now) return false
      kept.lease = { owner, until: now + leaseMs }
      return true
    },

    async releaseLease(id, owner) {
      const kept = replays.get(id)
      if (kept?.lease?.owner === owner) kept.lease = undefined
    },
  }
}
