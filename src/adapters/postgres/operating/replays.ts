import { portionsOf } from '../../../adapter-kit/portions.ts'
import { readReplays } from '../../../adapter-kit/query/read-replays.ts'
import { NO_COUNTS, type ReplayItem, type Replays } from '../../../ports/replays.ts'
import { PlanCancelledError, ReplayExistsError } from '../../../ports/store.ts'
import type { PgPool, PgQueryable } from '../connection/client.ts'
import { Conditions } from '../connection/conditions.ts'
import { inTransaction, runQuery } from '../connection/query.ts'
import { arrayOf, asInterval, asTime, storableText, timeParameter } from '../connection/values.ts'

const DEFAULT_LIMIT = 100
const WRITTEN_AT_ONCE = 1_000
/** The column holds 32 bits. */
const MAX_POSITION = 2 ** 31 - 1
const CREATING = 'creating a replay'

// Each column is a separate parameter, because ->> fails on a body whose reason quotes NUL or half a surrogate pair.
const ITEMS = `rows from
    (unnest($2::integer[]), json_array_elements_text($3::json), json_array_elements($4::json))
    as item (position, status, body)`
const INSERT_ITEMS = `insert into lazaret.replay_items (replay_id, position, status, body)
  select $1, item.position, item.status, item.body from ${ITEMS}`
// For the same reason the stored delivery is compared as a part of the body's text. In a string its quotes would be escaped.
const RECORD_ITEMS = `update lazaret.replay_items i set status = item.status, body = item.body
  from ${ITEMS}
  where i.replay_id = $1 and i.position = item.position
    and ($5::text is null or strpos(i.body::text, $5) > 0)
    and ($6::text is null or i.status = $6)`

/** `openPool` throws once the store is closed. */
export function postgresReplays(openPool: () => PgPool): Replays {
  return {
    async create(replay, items, signal) {
      const { id, state, createdAt, revision } = replay
      await inTransaction(openPool(), CREATING, async client => {
        const { rowCount } = await runQuery(
          client,
          CREATING,
          `insert into lazaret.replays (id, state, created_at, revision, body)
           values ($1, $2, ${asTime(3)}, $4, $5) on conflict do nothing`,
          [id, state, timeParameter(createdAt), revision, JSON.stringify(replay)],
        )
        if (rowCount === 0) throw new ReplayExistsError(id)
        for (const portion of portionsOf(items, WRITTEN_AT_ONCE)) {
          if (signal?.aborted) throw new PlanCancelledError()
          await writeItems(client, CREATING, INSERT_ITEMS, id, portion)
        }
      })
    },

    async get(id) {
      const statement = 'select body::text as body from lazaret.replays where id = $1'
      return (await read('reading a replay', statement, [storableText(id)]))[0]
    },

    async list(options = {}) {
      const { state, limit = DEFAULT_LIMIT } = options
      const conditions = new Conditions(limit).equal('state', state)
      const { rows } = await runQuery(
        openPool(),
        'listing replays',
        `select body::text as body from lazaret.replays where ${conditions.text} order by created_at desc, id limit $1`,
        conditions.values,
      )
      return readReplays(rows.map(({ body }) => body))
    },

    async update(replay) {
      const updated = { ...replay, revision: replay.revision + 1 }
      const { rowCount } = await runQuery(
        openPool(),
        'changing a replay',
        'update lazaret.replays set state = $3, revision = $4, body = $5 where id = $1 and revision = $2',
        [replay.id, replay.revision, updated.state, updated.revision, JSON.stringify(updated)],
      )
      return rowCount === 0 ? undefined : updated
    },

    async items(id, { status, after = -1, limit } = {}) {
      const conditions = new Conditions(limit ?? null)
        .equal('replay_id', storableText(id))
        .equal('status', status)
        .add(Math.min(after, MAX_POSITION), parameter => `position > $${parameter}`)
      return read(
        'reading the letters of a replay',
        `select body::text as body from lazaret.replay_items where ${conditions.text} order by position limit $1`,
        conditions.values,
      )
    },

    async record(id, items, { delivery, status } = {}) {
      const doing = 'recording outcomes of a replay'
      const condition = [
        delivery === undefined ? null : `"delivery":${JSON.stringify(delivery)}`,
        status ?? null,
      ]
      await inTransaction(openPool(), doing, client =>
        writeItems(client, doing, RECORD_ITEMS, id, items, condition),
      )
    },

    async counts(id) {
      const { rows } = await runQuery(
        openPool(),
        'counting outcomes of a replay',
        `select status, count(*)::float8 as count from lazaret.replay_items where replay_id = $1 group by status`,
        [storableText(id)],
      )
      return { ...NO_COUNTS, ...Object.fromEntries(rows.map(({ status, count }) => [status, count])) }
    },

    async lease(id, owner, leaseMs) {
      const { rowCount } = await runQuery(
        openPool(),
        'leasing a replay',
        `update lazaret.replays set runner = $2, lease_until = clock_timestamp() + ${asInterval(3)}
         where id = $1 and (runner is null or runner = $2 or lease_until <= clock_timestamp())`,
        [storableText(id), storableText(owner), leaseMs],
      )
      return rowCount !== 0
    },

    async releaseLease(id, owner) {
      await runQuery(
        openPool(),
        'releasing a replay',
        'update lazaret.replays set runner = null, lease_until = null where id = $1 and runner = $2',
        [storableText(id), storableText(owner)],
      )
    },
  }

  // biome-ignore lint/suspicious/noExplicitAny: the statement decides whether a body is a replay or an item
  async function read(doing: string, statement: string, values: unknown[]): Promise<any[]> {
    const { rows } = await runQuery(openPool(), doing, statement, values)
    return rows.map(({ body }) => JSON.parse(body))
  }
}

async function writeItems(
  client: PgQueryable,
  doing: string,
  statement: string,
  id: string,
  items: readonly ReplayItem[],
  more: readonly (string | null)[] = [],
): Promise<void> {
  for (const portion of portionsOf(items, WRITTEN_AT_ONCE))
    await runQuery(client, doing, statement, [
      id,
      arrayOf(portion.map(({ position }) => position)),
      JSON.stringify(portion.map(({ status }) => status)),
      JSON.stringify(portion),
      ...more,
    ])
}
