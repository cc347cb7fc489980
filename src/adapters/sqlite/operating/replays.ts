import { portionsOf } from '../../../adapter-kit/portions.ts'
import { readReplays } from '../../../adapter-kit/query/read-replays.ts'
import { yieldToEventLoop } from '../../../ports/clock.ts'
import { NO_COUNTS, type ReplayItem, type Replays } from '../../../ports/replays.ts'
import { PlanCancelledError, ReplayExistsError } from '../../../ports/store.ts'
import type { Session } from '../connection/connection.ts'
import type { ItemRows } from './replay-tables.ts'

const DEFAULT_LIMIT = 100
/** Items written in one turn of the event loop, and by one request. */
const WRITTEN_AT_ONCE = 500

export function sqliteReplays(session: Session): Replays {
  return {
    /**
     * A replay may have a million items. They are written before the replay, in portions, and stay invisible until the
     * replay is there.
     */
    async create(replay, items, signal) {
      const { id, state, createdAt, revision } = replay
      let count = 0
      try {
        for (const portion of portionsOf(items, WRITTEN_AT_ONCE)) {
          if (count > 0) await yieldToEventLoop()
          if (signal?.aborted) throw new PlanCancelledError()
          if (!(await session.connection.write('replays', 'addItems', id, itemRows(portion))))
            throw new ReplayExistsError(id)
          count += portion.length
        }
      } catch (error) {
        await removeItems(id, count)
        throw error
      }
      const body = JSON.stringify(replay)
      const { connection } = session
      const isCreated = await connection.write(
        'replays',
        'create',
        id,
        state,
        createdAt,
        revision,
        body,
        count,
      )
      if (!isCreated) throw new ReplayExistsError(id)
    },

    async get(id) {
      const body = await session.connection.read('replays', 'get', id)
      return body === undefined ? undefined : JSON.parse(body)
    },

    async list(options = {}) {
      const { state = null, limit = DEFAULT_LIMIT } = options
      return readReplays(await session.connection.read('replays', 'list', state, limit))
    },

    async update(replay) {
      const { id, state, revision } = replay
      const updated = { ...replay, revision: revision + 1 }
      const body = JSON.stringify(updated)
      const { connection } = session
      const isUpdated = await connection.write('replays', 'update', id, state, revision, body)
      return isUpdated ? updated : undefined
    },

    async items(id, query = {}) {
      const { status = null, after = -1, limit = Number.MAX_SAFE_INTEGER } = query
      const bodies = await session.connection.read('replays', 'items', id, status, after, limit)
      return bodies.map(body => JSON.parse(body))
    },

    async record(id, items, { delivery, status } = {}) {
      const rows = itemRows(items)
      if (delivery === undefined && status === undefined)
        await session.connection.write('replays', 'record', id, rows)
      else await session.connection.write('replays', 'recordIf', id, delivery ?? null, status ?? null, rows)
    },

    async counts(id) {
      return { ...NO_COUNTS, ...(await session.connection.read('replays', 'counts', id)) }
    },

    async lease(id, owner, leaseMs) {
      return session.connection.write('replays', 'lease', id, owner, leaseMs)
    },

    async releaseLease(id, owner) {
      await session.connection.write('replays', 'releaseLease', id, owner)
    },
  }

  /** Deletes the items of a replay that is not there, in portions, as they were written. */
  async function removeItems(id: string, count: number): Promise<void> {
    for (let end = WRITTEN_AT_ONCE; end < count; end += WRITTEN_AT_ONCE)
      await session.connection.write('replays', 'removeItems', id, end)
    await session.connection.write('replays', 'removeItems', id, Number.MAX_SAFE_INTEGER)
  }
}

function itemRows(items: readonly ReplayItem[]): ItemRows {
  return items.flatMap(item => [item.position, item.status, JSON.stringify(item)])
}
