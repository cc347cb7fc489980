import {
  type CommandRow,
  commandRecords,
  commandRows,
  commandsOf,
  newlyOver,
  outcomeText,
  resolveLimit,
} from '../../../adapter-kit/fleet/check-commands.ts'
import { resolvePurge } from '../../../adapter-kit/query/snapshot-query.ts'
import { purgeRows } from '../../../adapter-kit/snapshots/rows.ts'
import type { CommandRecord, Commands } from '../../../ports/commands.ts'
import type { PgPool } from '../connection/client.ts'
import type { ListenConnection } from '../connection/listen-connection.ts'
import { COMMAND_NOTIFICATIONS, Notifier } from '../connection/notifier.ts'
import { runQuery } from '../connection/query.ts'
import { asMs, asTime, NOW_MS, storableText } from '../connection/values.ts'
import type { PostgresSettings } from '../options.ts'
import { CommandListeners } from './command-listeners.ts'

const IS_OVER = `(c.ended_at is not null or abs(${asMs(`${NOW_MS} - c.sent_at`)}) >= c.ttl_ms)`

// Each column is a separate parameter, because ->> fails on a text that contains NUL.
const SEND = `with sent as (
    insert into lazaret.commands (id, request, sent_at, ttl_ms, body)
    select id, request, ${NOW_MS}, $4::integer, body from rows from
      (json_array_elements_text($1::json), json_array_elements_text($2::json), json_array_elements($3::json))
      with ordinality as row (id, request, body, place)
    order by place
    on conflict (id) do nothing
    returning seq, id
  ), awaited as (
    insert into lazaret.command_recipients (instance, seq)
    select instance, seq from sent join rows from
      (json_array_elements_text($5::json), json_array_elements_text($6::json)) as row (id, instance) using (id)
  )
  select pg_notify('${COMMAND_NOTIFICATIONS.channel}', payload) from unnest($7::text[]) as payload`

// Most claims find nothing, and planning this is a fraction of planning the claim.
const IS_AWAITED = 'select 1 from lazaret.command_recipients where instance = $1 limit 1'

/**
 * Takes the oldest commands for good: one that is over stays expired, even if the clock is set later. Two instances that may
 * claim the same command lock its row: one of them gets the lock, and the other skips the row.
 */
const CLAIM = `with taken as materialized (
    select c.seq, ${IS_OVER} as is_over
    from lazaret.command_recipients r join lazaret.commands c on c.seq = r.seq
    where r.instance = $1 and c.claimed_by is null
    order by r.seq limit $2 for update of c skip locked
  ), no_longer_awaited as (
    delete from lazaret.command_recipients where seq = any (array(select seq from taken))
  ), claimed as (
    update lazaret.commands set claimed_by = $1, claimed_at = ${NOW_MS}
    where seq = any (array(select seq from taken where not is_over)) returning seq, body::text as body
  ), expired as (
    update lazaret.commands set ended_at = ${NOW_MS}
    where seq = any (array(select seq from taken where is_over)) and ended_at is null
  )
  select body from taken left join claimed using (seq) order by seq`

const FINISH = `update lazaret.commands set ended_at = ${NOW_MS}, outcome = $3
  where id = $1 and claimed_by = $2 and outcome is null`

/** Keeps that commands are over, unless their outcomes came meanwhile. It waits for no claim and no outcome. */
const END = `update lazaret.commands set ended_at = ${NOW_MS} where seq = any (array(
    select seq from lazaret.commands where seq = any ($1::bigint[]) and ended_at is null for update skip locked
  ))`

const read = (
  which: string,
) => `select c.seq, c.body::text as body, ${asMs('c.sent_at')} as "sentAt", c.ttl_ms as "ttlMs",
    c.claimed_by as "claimedBy", ${asMs('c.claimed_at')} as "claimedAt", ${asMs('c.ended_at')} as "endedAt",
    c.outcome::text as outcome, ${asMs('now')} as now
  from lazaret.commands c cross join (select ${NOW_MS} as now) as clock ${which}`
const GET = read('where c.request = $1 order by c.seq')
const LIST = read('order by c.seq desc limit $1')

const PURGE = `delete from lazaret.commands where seq = any (array(
    select c.seq from lazaret.commands c
    where c.sent_at < ${asTime(1)} and ${IS_OVER}
    order by c.seq limit $2 for update skip locked
  ))`

/** The row of a command, and the time at which it was read. */
interface ReadCommand extends CommandRow {
  readonly seq: string
  readonly now: number
}

/** Commands to the processes that work on the database. The clock is the server's. `openPool` throws once the store is closed. */
export function postgresCommands(
  openPool: () => PgPool,
  settings: PostgresSettings,
  connection: ListenConnection,
): Required<Commands> & { close(): Promise<void> } {
  const notifier = new Notifier(settings, COMMAND_NOTIFICATIONS)
  const listeners = new CommandListeners(settings, connection)

  return {
    async send(commands, ttlMs) {
      const pool = openPool()
      const rows = commandRows(commands, ttlMs)
      if (rows.length === 0) return
      // Of two commands with one id the first one counts.
      const byId = new Map(rows.toReversed().map(row => [row.id, row]))
      const unique = rows.filter(row => byId.get(row.id) === row)
      const recipients = unique.flatMap(row =>
        Array.from(new Set(row.recipients), to => [row.id, to] as const),
      )
      const instances = new Set(recipients.map(([, to]) => to))
      await runQuery(pool, 'sending commands', SEND, [
        JSON.stringify(unique.map(({ id }) => id)),
        JSON.stringify(unique.map(({ request }) => request)),
        `[${unique.map(({ body }) => body).join()}]`,
        rows[0]!.ttlMs,
        JSON.stringify(recipients.map(([id]) => id)),
        JSON.stringify(recipients.map(([, to]) => to)),
        COMMAND_NOTIFICATIONS.payloadsOf(notifier.due(instances)),
      ])
      listeners.wake(instances)
    },

    async claim(instance, limit) {
      const pool = openPool()
      const [id, most] = [storableText(instance), resolveLimit(limit)]
      const doing = 'claiming commands'
      if ((await runQuery(pool, doing, IS_AWAITED, [id])).rows.length === 0) return []
      const claimed: string[] = []
      while (claimed.length < most) {
        const wanted = most - claimed.length
        const { rows } = await runQuery(pool, doing, CLAIM, [id, wanted])
        for (const { body } of rows) if (body !== null) claimed.push(body)
        if (rows.length < wanted) break
      }
      return commandsOf(claimed)
    },

    async finish(id, instance, outcome) {
      const values = [storableText(id), storableText(instance), outcomeText(outcome)]
      const { rowCount } = await runQuery(openPool(), 'finishing a command', FINISH, values)
      return rowCount !== 0
    },

    async get(request) {
      return await readRecords(GET, storableText(request))
    },

    async list(limit) {
      const pool = openPool()
      return await readRecords(LIST, resolveLimit(limit), pool)
    },

    async purge(before) {
      const bound = resolvePurge(before)
      return await purgeRows(async most => {
        const { rowCount } = await runQuery(openPool(), 'deleting commands', PURGE, [bound, most])
        return rowCount ?? 0
      })
    },

    onCommand(instance, listener) {
      openPool()
      return listeners.add(instance, listener)
    },

    async close() {
      notifier.stop()
      await listeners.close()
    },
  }

  async function readRecords(
    statement: string,
    value: unknown,
    pool = openPool(),
  ): Promise<readonly CommandRecord[]> {
    const found = await runQuery(pool, 'reading commands', statement, [value])
    const rows: readonly ReadCommand[] = found.rows
    const [first] = rows
    if (first === undefined) return []
    const over = newlyOver(rows, first.now).map(({ seq }) => seq)
    // A server that cannot write now can still be read. The next reader keeps what this one found.
    if (over.length > 0) await runQuery(pool, 'ending commands', END, [over]).catch(() => {})
    return commandRecords(rows, first.now)
  }
}
