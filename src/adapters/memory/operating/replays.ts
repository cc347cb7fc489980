import type { Clock } from '../../../ports/clock.ts'
import {
  type ItemQuery,
  type ItemStatus,
  NO_COUNTS,
  type Replay,
  type ReplayCounts,
  type ReplayItem,
  type ReplayState,
  type Replays,
} from '../../../ports/replays.ts'
import { ReplayExistsError } from '../../../ports/store.ts'

interface StoredReplay {
  replay: Replay
  readonly items: ReplayItem[]
  lease: { readonly owner: string; readonly until: number } | undefined
}

export class MemoryReplays implements Replays {
  readonly #clock: Clock
  readonly #replays = new Map<string, StoredReplay>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  async create(replay: Replay, items: readonly ReplayItem[]): Promise<void> {
    if (this.#replays.has(replay.id)) throw new ReplayExistsError(replay.id)
    this.#replays.set(replay.id, { replay, items: [...items], lease: undefined })
  }

  async get(id: string): Promise<Replay | undefined> {
    return this.#replays.get(id)?.replay
  }

  async list(
    options: { readonly state?: ReplayState | undefined; readonly limit?: number | undefined } = {},
  ) {
    const { state, limit = 100 } = options
    const all = [...this.#replays.values()].map(({ replay }) => replay)
    const wanted = all.filter(replay => state === undefined || replay.state === state)
    return wanted.sort((a, b) => b.createdAt - a.createdAt).slice(0, limit)
  }

  async update(replay: Replay): Promise<Replay | undefined> {
    const kept = this.#replays.get(replay.id)
    if (kept === undefined || kept.replay.revision !== replay.revision) return undefined
    kept.replay = { ...replay, revision: replay.revision + 1 }
    return kept.replay
  }

  async items(id: string, query: ItemQuery = {}): Promise<readonly ReplayItem[]> {
    const { status, after = -1, limit = Number.POSITIVE_INFINITY } = query
    const items = this.#replays.get(id)?.items ?? []
    const wanted = items.filter(item => item.position > after && (status ?? item.status) === item.status)
    return wanted.slice(0, limit)
  }

  async record(id: string, items: readonly ReplayItem[]): Promise<void> {
    const kept = this.#replays.get(id)
    for (const item of items) if (kept !== undefined) kept.items[item.position] = item
  }

  async counts(id: string): Promise<ReplayCounts> {
    const counts = { ...NO_COUNTS } as { -readonly [S in ItemStatus]: number }
    for (const { status } of this.#replays.get(id)?.items ?? []) counts[status]++
    return counts
  }

  async lease(id: string, owner: string, leaseMs: number): Promise<boolean> {
    const kept = this.#replays.get(id)
    const now = this.#clock.now()
    if (kept === undefined) return false
    if (kept.lease !== undefined && kept.lease.owner !== owner && kept.lease.until > now) return false
    kept.lease = { owner, until: now + leaseMs }
    return true
  }

  async releaseLease(id: string, owner: string): Promise<void> {
    const kept = this.#replays.get(id)
    if (kept?.lease?.owner === owner) kept.lease = undefined
  }
}
