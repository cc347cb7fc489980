import type { Door } from '../../../adapter-kit/door.ts'
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
import { ask, inTransaction } from '../connection/ask.ts'
import type { PgPool, PgQueryable } from '../connection/client.ts'
import { asTime, holdable, timeParameter } from '../connection/text.ts'
import { Conditions } from '../letters/letter-filter.ts'

const DEFAULT_LIMIT = 100
const WRITTEN_AT_ONCE = 1_000
/** The column holds 32 bits. */
const MAX_POSITION = 2 ** 31 - 1
const CREATING = 'creating a replay'

const INSERT_ITEMS = `insert into lazaret.replay_items (replay_id, position, status, body)
  select $1, (item ->> 'position')::integer, item ->> 'status', item from json_array_elements($2::json) as item`
const RECORD_ITEMS = `update lazaret.replay_items i set status = item ->> 'status', body = item
  from json_array_elements($2::json) as item
  where i.replay_id = $1 and i.position = (item ->> 'position')::integer`

export class PostgresReplays implements Replays {
  readonly #pool: PgPool
  readonly #door: Door

  constructor(pool: PgPool, door: Door) {
    this.#pool = pool
    this.#door = door
  }

  async create(replay: Replay, items: readonly ReplayItem[]): Promise<void> {
    const { id, state, createdAt, revision } = replay
    await inTransaction(this.#open, CREATING, async client => {
      const { rowCount } = await ask(
        client,
        CREATING,
        `insert into lazaret.replays (id, state, created_at, revision, body)
         values ($1, $2, ${asTime(3)}, $4, $5) on conflict do nothing`,
        [id, state, timeParameter(createdAt), revision, JSON.stringify(replay)],
      )
      if (rowCount === 0) throw new ReplayExistsError(id)
      await writeItems(client, CREATING, INSERT_ITEMS, id, items)
    })
  }

  async get(id: string): Promise<Replay | undefined> {
    const { rows } = await ask(
      this.#open,
      'reading a replay',
      'select body::text as body from lazaret.replays where id = $1',
      [holdable(id)],
    )
    return rows.length === 0 ? undefined : JSON.parse(rows[0].body)
  }

  async list(
    options: { readonly state?: ReplayState | undefined; readonly limit?: number | undefined } = {},
  ): Promise<readonly Replay[]> {
    const { state, limit = DEFAULT_LIMIT } = options
    const conditions = new Conditions(limit)
    if (state !== undefined) conditions.add(state, parameter => `state = $${parameter}`)
    const { rows } = await ask(
      this.#open,
      'listing replays',
      `select body::text as body from lazaret.replays where ${conditions.text} order by created_at desc, id limit $1`,
      conditions.values,
    )
    return rows.map(({ body }) => JSON.parse(body))
  }

  async update(replay: Replay): Promise<Replay | undefined> {
    const updated = { ...replay, revision: replay.revision + 1 }
    const { rowCount } = await ask(
      this.#open,
      'changing a replay',
      'update lazaret.replays set state = $3, revision = $4, body = $5 where id = $1 and revision = $2',
      [replay.id, replay.revision, updated.state, updated.revision, JSON.stringify(updated)],
    )
    return rowCount === 0 ? undefined : updated
  }

  async items(id: string, { status, after = -1, limit }: ItemQuery = {}): Promise<readonly ReplayItem[]> {
    const conditions = new Conditions(limit ?? null)
      .add(holdable(id), parameter => `replay_id = $${parameter}`)
      .add(Math.min(after, MAX_POSITION), parameter => `position > $${parameter}`)
    if (status !== undefined) conditions.add(status, parameter => `status = $${parameter}`)
    const { rows } = await ask(
      this.#open,
      'reading the letters of a replay',
      `select body::text as body from lazaret.replay_items where ${conditions.text} order by position limit $1`,
      conditions.values,
    )
    return rows.map(({ body }) => JSON.parse(body))
  }

  async record(id: string, items: readonly ReplayItem[]): Promise<void> {
    const doing = 'recording outcomes of a replay'
    await inTransaction(this.#open, doing, client => writeItems(client, doing, RECORD_ITEMS, id, items))
  }

  async counts(id: string): Promise<ReplayCounts> {
    const { rows } = await ask(
      this.#open,
      'counting outcomes of a replay',
      `select status, count(*)::float8 as count from lazaret.replay_items where replay_id = $1 group by status`,
      [holdable(id)],
    )
    return { ...NO_COUNTS, ...Object.fromEntries(rows.map(({ status, count }) => [status, count])) }
  }

  async lease(id: string, owner: string, leaseMs: number): Promise<boolean> {
    const { rowCount } = await ask(
      this.#open,
      'taking a replay',
      `update lazaret.replays set runner = $2, lease_until = clock_timestamp() + $3::float8 * interval '1 ms'
       where id = $1 and (runner is null or runner = $2 or lease_until <= clock_timestamp())`,
      [holdable(id), holdable(owner), leaseMs],
    )
    return rowCount !== 0
  }

  async letGo(id: string, owner: string): Promise<void> {
    await ask(
      this.#open,
      'letting a replay go',
      'update lazaret.replays set runner = null, lease_until = null where id = $1 and runner = $2',
      [holdable(id), holdable(owner)],
    )
  }

  get #open(): PgPool {
    this.#door.requireOpen()
    return this.#pool
  }
}

async function writeItems(
  client: PgQueryable,
  doing: string,
  statement: string,
  id: string,
  items: readonly ReplayItem[],
): Promise<void> {
  for (let at = 0; at < items.length; at += WRITTEN_AT_ONCE)
    await ask(client, doing, statement, [id, JSON.stringify(items.slice(at, at + WRITTEN_AT_ONCE))])
}
