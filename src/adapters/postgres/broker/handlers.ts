import { OptionsError } from '../../../core/options/faults.ts'
import type { PgQueryable } from '../connection/client.ts'
import { runQuery } from '../connection/query.ts'
import { storableText, storableTextOrNull } from '../connection/values.ts'
import type { ClaimScope } from './claim.ts'
import { eventUuid } from './publish.ts'

/**
 * Rows may have waited for a handler that was not there, such as replays for one that is retired. They are put into lanes
 * if the handler keeps keys in order, and taken out of lanes if it does not.
 */
const register = (lanes: string) => `with entered as (
    insert into lazaret.outbox_handlers (channel, handler, by_key) values ($1, $2, $3) on conflict do nothing returning 1)
  update lazaret.outbox set ${lanes}
    and exists (select from entered) and channel = $1 and target = $2 and owner is null`
const REGISTER = register('lane = null where lane is not null')
const REGISTER_BY_KEY = register(`lane = key where lane is null and key <> ''`)

/** Registers the handler. It gets events that are enqueued from now on, and those that no handler was there for. */
export async function registerHandler(
  on: PgQueryable,
  { channel, handler, isByKey }: ClaimScope,
): Promise<void> {
  const doing = `subscribing handler ${handler}`
  await runQuery(on, doing, isByKey ? REGISTER_BY_KEY : REGISTER, [channel, handler, isByKey])
  const { rows } = await runQuery(
    on,
    doing,
    'select by_key as "isByKey" from lazaret.outbox_handlers where channel = $1 and handler = $2',
    [channel, handler],
  )
  if (rows[0]?.isByKey !== isByKey) throw orderingMismatch(isByKey, handler)
  while (await adoptRows(on, channel));
}

/** Gives rows without a target to the handlers of the channel. Answers whether there were any. */
export async function adoptRows(on: PgQueryable, channel: string): Promise<boolean> {
  const doing = `looking for events of channel ${channel}`
  const { rows } = await runQuery(on, doing, 'select lazaret.outbox_adopt($1) as count', [channel])
  return rows[0].count > 0
}

/**
 * Unblocks the key of a dead-lettered event. Answers whether there was such an event. If the event is in flight, its row
 * remembers when that was asked for, by the clock of the server: its letter may be saved already.
 */
export async function unblockKey(
  on: PgQueryable,
  channel: string,
  eventId: string,
  handler?: string,
): Promise<boolean> {
  const { rows } = await runQuery(
    on,
    `unblocking the key of event ${eventId}`,
    `select lazaret.outbox_unblock($1, $2, $3, clock_timestamp()) as "isUnblocked"`,
    [storableText(channel), eventUuid(eventId), storableTextOrNull(handler)],
  )
  return rows[0].isUnblocked
}

/** Pending rows are counted by their indexes and rows in flight by the claims, so other rows do not slow it down. */
const DEPTH = `select (
    (select count(*) from lazaret.outbox where channel = $1 and target = $2 and owner is null and lane is null)
  + (select count(*) from lazaret.outbox where channel = $1 and target = $2 and owner is null and lane is not null)
  + (select count(*) from lazaret.outbox where channel = $1 and target is null and owner is null)
  + (select count(*) from lazaret.outbox o
     where o.seq = any (array(select unnest(seqs) from lazaret.outbox_claims))
       and o.channel = $1 and o.target = $2 and o.status = 'in_flight')
)::float8 as count`

export async function countDepth(on: PgQueryable, channel: string, handler: string): Promise<number> {
  const values = [storableText(channel), storableText(handler)]
  const { rows } = await runQuery(on, `counting events of channel ${channel}`, DEPTH, values)
  return rows[0].count
}

function orderingMismatch(isByKey: boolean, handler: string): OptionsError {
  const [asked, begun] = isByKey ? ['by-key', 'none'] : ['none', 'by-key']
  const remedy = `give '${begun}', the ordering with which handler ${handler} was registered, or another handler name; docs/brokers/postgres.md says how to change it`
  return new OptionsError('subscribe', [{ path: 'subscribe.ordering', received: `'${asked}'`, remedy }])
}
