import type { Door } from '../../../adapter-kit/door.ts'
import { nextTurn } from '../../../ports/clock.ts'
import {
  type ItemQuery,
  NO_COUNTS,
  type Replay,
  type ReplayCounts,
  type ReplayItem,
  type ReplayState,
  type Replays,
} from '../../../ports/replays.ts'
import { ReplayExistsError } from '../../../ports/store.ts'
import type { ItemRows } from '../connection/calls.ts'
import type { Connection } from '../connection/connection.ts'

const DEFAULT_LIMIT = 100
/** Items written in one turn of the event loop, and by one request. */
const WRITTEN_AT_ONCE = 500

export class SqliteReplays implements Replays {
  readonly #connection: Connection
  readonly #door: Door

  constructor(connection: Connection, door: Door) {
    this.#connection = connection
    this.#door = door
  }

  /** A replay may have a million items: they go in before it, a few at a time, and nobody sees them until it is there. */
  async create(replay: Replay, items: readonly ReplayItem[]): Promise<void> {
    const { id, state, createdAt, revision } = replay
    for (let at = 0; at < items.length; at += WRITTEN_AT_ONCE) {
      if (at > 0) await nextTurn()
      const rows = itemRows(items.slice(at, at + WRITTEN_AT_ONCE))
      if (!(await this.#writer.call('addItems', id, rows))) throw new ReplayExistsError(id)
    }
    const body = JSON.stringify(replay)
    const isCreated = await this.#writer.call(
      'createReplay',
      id,
      state,
      createdAt,
      revision,
      body,
      items.length,
    )
    if (!isCreated) throw new ReplayExistsError(id)
  }

  async get(id: string): Promise<Replay | undefined> {
    this.#door.requireOpen()
    const body = await this.#connection.read('getReplay', id)
    return body === undefined ? undefined : JSON.parse(body)
  }

  async list(
    options: { readonly state?: ReplayState | undefined; readonly limit?: number | undefined } = {},
  ): Promise<readonly Replay[]> {
    this.#door.requireOpen()
    const { state = null, limit = DEFAULT_LIMIT } = options
    const bodies = await this.#connection.read('listReplays', state, limit)
    return bodies.map(body => JSON.parse(body))
  }

  async update(replay: Replay): Promise<Replay | undefined> {
    const updated = { ...replay, revision: replay.revision + 1 }
    const body = JSON.stringify(updated)
    const isUpdated = await this.#writer.call('updateReplay', replay.id, replay.state, replay.revision, body)
    return isUpdated ? updated : undefined
  }

  async items(id: string, query: ItemQuery = {}): Promise<readonly ReplayItem[]> {
    this.#door.requireOpen()
    const { status = null, after = -1, limit = Number.MAX_SAFE_INTEGER } = query
    const bodies = await this.#connection.read('listItems', id, status, after, limit)
    return bodies.map(body => JSON.parse(body))
  }

  async record(id: string, items: readonly ReplayItem[]): Promise<void> {
    await this.#writer.call('recordItems', id, itemRows(items))
  }

  async counts(id: string): Promise<ReplayCounts> {
    this.#door.requireOpen()
    return { ...NO_COUNTS, ...(await this.#connection.read('countItems', id)) }
  }

  async lease(id: string, owner: string, leaseMs: number): Promise<boolean> {
    return this.#writer.call('leaseReplay', id, owner, leaseMs)
  }

  async letGo(id: string, owner: string): Promise<void> {
    await this.#writer.call('letReplayGo', id, owner)
  }

  get #writer(): Connection['writer'] {
    this.#door.requireOpen()
    return this.#connection.writer
  }
}

function itemRows(items: readonly ReplayItem[]): ItemRows {
  return items.flatMap(item => [item.position, item.status, JSON.stringify(item)])
}
