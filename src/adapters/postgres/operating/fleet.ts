import { type InstanceRow, instancesOf, reportRow } from '../../../adapter-kit/fleet/check-report.ts'
import { resolvePurge } from '../../../adapter-kit/query/snapshot-query.ts'
import type { Fleet } from '../../../ports/fleet.ts'
import type { PgPool } from '../connection/client.ts'
import { runQuery } from '../connection/query.ts'
import { asMs, asTime, NOW_MS, storableText } from '../connection/values.ts'

const REPORT = `insert into lazaret.instances (id, body, lease_ms, seen_at) values ($1, $2, $3, ${NOW_MS})
  on conflict (id) do update
  set body = excluded.body, lease_ms = excluded.lease_ms, seen_at = excluded.seen_at, has_left = false`

const LEAVE = `update lazaret.instances set has_left = true, seen_at = ${NOW_MS} where id = $1 and not has_left`

const LIST = `select body::text as body, ${asMs('seen_at')} as "seenAt", lease_ms as "leaseMs", has_left as "hasLeft",
    ${asMs('now')} as now
  from lazaret.instances cross join (select ${NOW_MS} as now) as clock`

// A row that is locked is being reported, so its process is alive.
const PURGE = `delete from lazaret.instances where id = any (array(
    select id from lazaret.instances
    where seen_at < ${asTime(1)} and (has_left or abs(${asMs(`${NOW_MS} - seen_at`)}) >= lease_ms)
    for update skip locked
  ))`

/** The processes that work on the database. The clock is the server's. */
export function postgresFleet(openPool: () => PgPool): Fleet {
  return {
    async report(report, leaseMs) {
      await runQuery(openPool(), 'reporting a process', REPORT, [...reportRow(report, leaseMs)])
    },

    async leave(id) {
      await runQuery(openPool(), 'leaving the fleet', LEAVE, [storableText(id)])
    },

    async list() {
      const { rows } = await runQuery(openPool(), 'listing the fleet', LIST)
      const [first] = rows as readonly (InstanceRow & { readonly now: number })[]
      return first === undefined ? [] : instancesOf(rows, first.now)
    },

    async purge(before) {
      const pool = openPool()
      const { rowCount } = await runQuery(pool, 'deleting processes', PURGE, [resolvePurge(before)])
      return rowCount ?? 0
    },
  }
}
