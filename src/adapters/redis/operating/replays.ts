import type { OpenState } from '../../../adapter-kit/open-state.ts'
import { portionsOf } from '../../../adapter-kit/portions.ts'
import { readReplays } from '../../../adapter-kit/query/read-replays.ts'
import type { IdSource } from '../../../core/event/uuid.ts'
import {
  type ItemStatus,
  NO_COUNTS,
  type Replay,
  type ReplayCounts,
  type ReplayItem,
  type Replays,
} from '../../../ports/replays.ts'
import { ReplayExistsError } from '../../../ports/store.ts'
import type { RedisConnection } from '../connection/connection.ts'
import { ScriptRunner } from '../connection/script.ts'
import type { Keys } from '../keys.ts'
import {
  counts,
  create,
  items,
  lease,
  list,
  read,
  record,
  releaseLease,
  stage,
  update,
} from './replay-scripts.ts'

const DEFAULT_LIMIT = 100
const AT_ONCE = 1_000
const STATUSES = Object.keys(NO_COUNTS) as ItemStatus[]

export function redisReplays(
  connection: RedisConnection,
  keys: Keys,
  newId: IdSource,
  door: OpenState,
): Replays {
  const scripts = new ScriptRunner(connection, keys.of('replays'), door)
  return {
    /** A replay may have many items. They are written separately, in portions, and join the replay when it is written. */
    async create(replay, all) {
      const { id, createdAt, revision } = replay
      const staged = `staged-${newId(createdAt)}`
      let count = 0
      for (const portion of portionsOf(all, AT_ONCE)) {
        await scripts.runIdempotent(stage, [staged, ...portion.flatMap(wordsOf)])
        count += portion.length
      }
      const words = [id, staged, String(count), String(createdAt), String(revision), JSON.stringify(replay)]
      const outcome = await scripts.runIdempotent(create, words)
      if (outcome !== 'created') throw new ReplayExistsError(id, outcome)
    },

    async get(id) {
      const body = await scripts.runIdempotent(read, [id])
      return body === undefined ? undefined : JSON.parse(body)
    },

    async list(options = {}) {
      const { state, limit = DEFAULT_LIMIT } = options
      const found: Replay[] = []
      for (let rank = 0, isMore = true; isMore && found.length < limit; rank += AT_ONCE) {
        const bodies = await scripts.runIdempotent(list, [String(rank), String(AT_ONCE)])
        found.push(...readReplays(bodies).filter(replay => state === undefined || replay.state === state))
        isMore = bodies.length === AT_ONCE
      }
      return found.slice(0, limit)
    },

    /** The call is not repeated if its answer is lost, because it could not distinguish its own change from another. */
    async update(replay) {
      const updated = { ...replay, revision: replay.revision + 1 }
      const words = [replay.id, String(replay.revision), String(updated.revision), JSON.stringify(updated)]
      return (await scripts.run(update, words)) ? updated : undefined
    },

    async items(id, query = {}) {
      const { status, after = -1, limit = Number.POSITIVE_INFINITY } = query
      const found: ReplayItem[] = []
      for (let place = after, isMore = true; isMore && found.length < limit; ) {
        const most = Math.min(AT_ONCE, limit - found.length)
        const texts = await scripts.runIdempotent(items, [id, status ?? '', String(place), String(most)])
        found.push(...texts.map(text => JSON.parse(text) as ReplayItem))
        place = found.at(-1)?.position ?? place
        isMore = texts.length === most
      }
      return found
    },

    async record(id, changed, { delivery, status = '' } = {}) {
      const named = delivery === undefined ? '' : `"delivery":${JSON.stringify(delivery)}`
      await scripts.runIdempotent(record, [id, named, status, ...changed.flatMap(wordsOf)])
    },

    async counts(id) {
      const numbers = await scripts.runIdempotent(counts, [id, ...STATUSES])
      return Object.fromEntries(STATUSES.map((status, at) => [status, numbers[at]])) as ReplayCounts
    },

    lease(id, owner, leaseMs) {
      return scripts.runIdempotent(lease, [id, owner, String(leaseMs)])
    },

    async releaseLease(id, owner) {
      await scripts.runIdempotent(releaseLease, [id, owner])
    },
  }
}

function wordsOf(item: ReplayItem): string[] {
  return [String(item.position), item.status, JSON.stringify(item)]
}
