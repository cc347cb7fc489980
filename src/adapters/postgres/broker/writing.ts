import type { LazaretEvent } from '../../../core/event/event.ts'
import type { EventCodec } from '../../../ports/letter-codec.ts'
import { ask } from '../ask.ts'
import type { PgQueryable } from '../client.ts'
import { NOTIFY_CHANNEL } from '../schema/functions.ts'
import { EVENT_RECORD, writeEvent } from './event-row.ts'

/** One statement takes so many events, or so much text of them, at most. */
const MOST_EVENTS = 1_000
const MOST_TEXT = 4_194_304

const EVENTS = `select * from rows from (json_to_recordset($1::json) as (${EVENT_RECORD})) with ordinality as e(
  id, "foreignId", "idempotencyKey", channel, type, key, source, handler, payload, bytes, sealed, headers, replay,
  replays, "occurredAt", "expiresAt", place)`

/** Every handler of the channel gets a row; a replay is for the one that failed. Without a handler it is for nobody yet. */
const FOR_HANDLERS = `from incoming e left join lazaret.outbox_handlers h
  on h.channel = e.channel and (e.handler is null or h.handler = e.handler)`

const INSERT = `insert into lazaret.outbox (event_id, foreign_id, idempotency_key, channel, type, key, source, target,
    payload, payload_bytes, sealed, headers, generation, lane, replay, replays, occurred_at, expires_at)
  select e.id, e."foreignId", e."idempotencyKey", e.channel, e.type, e.key, e.source, h.handler, e.payload,
    decode(e.bytes, 'base64'), e.sealed, e.headers, $2::bigint, case when h.by_key then e.key end, e.replay, e.replays,
    to_timestamp(e."occurredAt" / 1000), to_timestamp(e."expiresAt" / 1000)
  ${FOR_HANDLERS}`

const TELL = `select pg_notify('${NOTIFY_CHANNEL}', channel) from unnest($3::text[]) as told(channel)`

/** New events, in whatever transaction this is run in. */
const ENQUEUE = `with incoming as (${EVENTS}), added as (${INSERT} order by e.place, h.handler) ${TELL}`

/**
 * Events that may have failed here before. What is failed is replayed in place: the cycle joins the history, and the row
 * keeps its place before all that have waited for it. Had it been let go, later ones may have overtaken it, so it goes to
 * the end. The rest is new, but for a replay that is on its way already.
 */
const PUBLISH = `with incoming as (${EVENTS}),
revived as (
  update lazaret.outbox o set
    failure_history = o.failure_history
      || lazaret.outbox_ended_cycle(o, coalesce('replay ' || e.replay, 'published again'), clock_timestamp()),
    status = 'pending', owner = null, attempts = 0, attempts_ended = 0, attempt_log = null, last_error = null,
    first_failed_at = null, failed_at = null, deleted_at = null, next_attempt_at = statement_timestamp(),
    payload = e.payload, payload_bytes = decode(e.bytes, 'base64'), sealed = e.sealed, headers = e.headers, key = e.key,
    replay = e.replay, replays = greatest(o.replays, e.replays), lane = case when h.by_key then e.key end,
    seq = case when h.by_key and o.lane is null and e.key is not null
      then nextval(pg_get_serial_sequence('lazaret.outbox', 'seq')) else o.seq end
  from incoming e join lazaret.outbox_handlers h
    on h.channel = e.channel and (e.handler is null or h.handler = e.handler)
  where o.event_id = e.id and o.failed_at is not null and o.status = 'failed' and o.channel = e.channel and o.target = h.handler
  returning o.event_id, o.channel, o.target
), added as (
  ${INSERT}
  where not exists (
      select from revived r where r.event_id = e.id and r.channel = e.channel and r.target = h.handler)
    and not exists (
      select from lazaret.outbox o where o.event_id = e.id and o.replay = e.replay
        and o.status in ('pending', 'in_flight') and o.channel = e.channel)
  order by e.place, h.handler
) ${TELL}`

export interface Written {
  readonly events: readonly LazaretEvent[]
  readonly generation: number
  /** The channels that others are told of. */
  readonly told: readonly string[]
}

/** Writes events with the statement, a bounded number at a time, after all of them were found to be fit for it. */
export async function writeEvents(
  on: PgQueryable,
  how: 'enqueue' | 'publish',
  { events, generation, told }: Written,
  codec: EventCodec,
): Promise<void> {
  const statement = how === 'enqueue' ? ENQUEUE : PUBLISH
  const doing = how === 'enqueue' ? 'enqueueing events' : 'publishing events'
  const batches = gather(events.map(event => writeEvent(event, codec)))
  for (const batch of batches) await ask(on, doing, statement, [`[${batch.join(',')}]`, generation, told])
}

function gather(texts: readonly string[]): string[][] {
  const batches: string[][] = []
  let room = 0
  for (const text of texts) {
    if (batches.length === 0 || room < text.length || batches.at(-1)!.length >= MOST_EVENTS) {
      batches.push([])
      room = MOST_TEXT
    }
    batches.at(-1)!.push(text)
    room -= text.length
  }
  return batches
}
