import { OptionsError } from '../../../core/options/faults.ts'
import { ask } from '../connection/ask.ts'
import type { PgQueryable } from '../connection/client.ts'
import { holdable, holdableOrNull } from '../connection/text.ts'
import type { ClaimFor } from './claiming.ts'
import { eventUuid } from './event-row.ts'

/**
 * Rows may have waited for a handler that was not there: replays of one that is retired, say. They are in lanes if it
 * keeps keys in order, and in none if it does not.
 */
const enter = (lanes: string) => `with entered as (
    insert into lazaret.outbox_handlers (channel, handler, by_key) values ($1, $2, $3) on conflict do nothing returning 1)
  update lazaret.outbox set ${lanes}
    and exists (select from entered) and channel = $1 and target = $2 and owner is null`
const ENTER = enter('lane = null where lane is not null')
const ENTER_BY_KEY = enter(`lane = key where lane is null and key <> ''`)

/** Makes the handler known, so that it gets what is enqueued from now on, and what was there for nobody. */
export async function enterHandler(on: PgQueryable, { channel, handler, isByKey }: ClaimFor): Promise<void> {
  await ask(on, `subscribing handler ${handler}`, isByKey ? ENTER_BY_KEY : ENTER, [channel, handler, isByKey])
  const { rows } = await ask(
    on,
    `subscribing handler ${handler}`,
    'select by_key as "isByKey" from lazaret.outbox_handlers where channel = $1 and handler = $2',
    [channel, handler],
  )
  if (rows[0]?.isByKey !== isByKey) throw orderedOtherwise(isByKey, handler)
  while (await adopt(on, channel));
}

/** Gives rows that are for nobody to the handlers of the channel; whether there were any. */
export async function adopt(on: PgQueryable, channel: string): Promise<boolean> {
  const { rows } = await ask(
    on,
    `looking for events of channel ${channel}`,
    'select lazaret.outbox_adopt($1) as count',
    [channel],
  )
  return rows[0].count > 0
}

/** The later ones of its key need not wait any more; whether there was a dead one. */
export async function letEventGo(
  on: PgQueryable,
  channel: string,
  eventId: string,
  handler?: string,
): Promise<boolean> {
  const { rowCount } = await ask(
    on,
    `letting event ${eventId} go`,
    `update lazaret.outbox set lane = null
     where event_id = $2 and failed_at is not null and channel = $1 and lane is not null
       and target = coalesce($3, target)`,
    [holdable(channel), eventUuid(eventId), holdableOrNull(handler)],
  )
  return rowCount !== 0
}

/** What is pending is counted by its indexes, what is in flight by the claims: however much there is beside them. */
const DEPTH = `select (
    (select count(*) from lazaret.outbox where channel = $1 and target = $2 and owner is null and lane is null)
  + (select count(*) from lazaret.outbox where channel = $1 and target = $2 and owner is null and lane is not null)
  + (select count(*) from lazaret.outbox where channel = $1 and target is null and owner is null)
  + (select count(*) from lazaret.outbox o
     where o.seq = any (array(select unnest(seqs) from lazaret.outbox_claims))
       and o.channel = $1 and o.target = $2 and o.status = 'in_flight')
)::float8 as count`

export async function countDepth(on: PgQueryable, channel: string, handler: string): Promise<number> {
  const { rows } = await ask(on, `counting events of channel ${channel}`, DEPTH, [
    holdable(channel),
    holdable(handler),
  ])
  return rows[0].count
}

function orderedOtherwise(isByKey: boolean, handler: string): OptionsError {
  const [asked, begun] = isByKey ? ['by-key', 'none'] : ['none', 'by-key']
  const remedy = `give '${begun}', which handler ${handler} began with, or another handler name; docs/brokers/postgres.md says how to change it`
  return new OptionsError('subscribe', [{ path: 'subscribe.ordering', received: `'${asked}'`, remedy }])
}
