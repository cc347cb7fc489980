import { portionsOf } from '../../../adapter-kit/portions.ts'
import { EARLIEST, NEVER, resolvePurge } from '../../../adapter-kit/query/snapshot-query.ts'
import { resolveSnapshots } from '../../../adapter-kit/snapshots/check.ts'
import {
  listRows,
  purgeRows,
  rowOf,
  SNAPSHOTS_AT_ONCE,
  type WantedRows,
} from '../../../adapter-kit/snapshots/rows.ts'
import type { Snapshots } from '../../../ports/snapshots.ts'
import type { PgPool } from '../connection/client.ts'
import { Conditions } from '../connection/conditions.ts'
import { runQuery } from '../connection/query.ts'
import { asTime } from '../connection/values.ts'

// Each column is a separate parameter, because ->> fails on a text that contains NUL.
const PUT = `insert into lazaret.snapshots (channel, at, body)
  select channel, to_timestamp(at::float8 / 1000), body from rows from
    (json_array_elements_text($1::json), json_array_elements_text($2::json), json_array_elements($3::json))
    as row (channel, at, body)
  on conflict (channel, at) do update set body = excluded.body`

/** Jumps from channel to channel in the primary key, because reading all rows would take longer and longer. */
const CHANNELS = `with recursive channels as (
    (select channel from lazaret.snapshots order by channel limit 1)
    union all
    select (select s.channel from lazaret.snapshots s where s.channel > c.channel order by s.channel limit 1)
    from channels c where c.channel is not null
  )`
const LIST_CHANNELS = `${CHANNELS} select channel from channels where channel is not null`

const list = (inTime: string) => `select s.body::text as body
  from json_array_elements_text($1::json) with ordinality as wanted (channel, place)
  cross join lateral (
    select at, body from lazaret.snapshots
    where channel = wanted.channel and ${inTime} order by at desc limit $2
  ) s
  order by wanted.place, s.at desc`

// Rows are locked in the order of the key, so that two purges do not deadlock.
const PURGE = `${CHANNELS}, due as materialized (
    select s.channel, s.at from channels c cross join lateral (
      select channel, at from lazaret.snapshots
      where channel = c.channel and at < ${asTime(1)} order by at limit $2 for update
    ) s limit $2
  )
  delete from lazaret.snapshots s using due where s.channel = due.channel and s.at = due.at`

/** `openPool` throws once the store is closed. */
export function postgresSnapshots(openPool: () => PgPool): Snapshots {
  return {
    async append(snapshots) {
      const pool = openPool()
      for (const portion of portionsOf(resolveSnapshots(snapshots), SNAPSHOTS_AT_ONCE)) {
        const rows = portion.map(rowOf)
        await runQuery(pool, 'writing snapshots', PUT, [
          JSON.stringify(rows.map(([channel]) => channel)),
          JSON.stringify(rows.map(([, at]) => at)),
          `[${rows.map(([, , body]) => body).join()}]`,
        ])
      }
    },

    async list(query) {
      return await listRows({ channels: readChannels, bodies: readBodies }, query)
    },

    async purge(before) {
      const bound = resolvePurge(before)
      return await purgeRows(async most => {
        const { rowCount } = await runQuery(openPool(), 'deleting snapshots', PURGE, [bound, most])
        return rowCount ?? 0
      })
    },
  }

  async function readChannels(): Promise<readonly string[]> {
    const { rows } = await runQuery(openPool(), 'listing snapshots', LIST_CHANNELS)
    return rows.map(({ channel }) => channel)
  }

  async function readBodies(
    channels: readonly string[],
    { after, before, perChannel }: WantedRows,
  ): Promise<readonly string[]> {
    const conditions = new Conditions(JSON.stringify(channels), perChannel)
    // The planner expects few rows within a bound, and would sort all rows of a channel if the bound excludes none.
    if (after > EARLIEST) conditions.add(after, parameter => `at >= ${asTime(parameter)}`)
    if (before < NEVER) conditions.add(before, parameter => `at < ${asTime(parameter)}`)
    const { rows } = await runQuery(openPool(), 'listing snapshots', list(conditions.text), conditions.values)
    return rows.map(({ body }) => body)
  }
}
