import type { LazaretEvent } from '../../../core/event/event.ts'
import { replayOf } from '../../../core/event/replay-headers.ts'
import type { EventCodec } from '../../../ports/codec.ts'
import { ask, inTransaction } from '../connection/ask.ts'
import type { PgPool, PgQueryable } from '../connection/client.ts'
import { column, fromColumn, isFit, numbers } from '../connection/columns.ts'
import { BY_SQL, NOTIFY_CHANNEL } from '../schema/functions.ts'
import { mergeFailed, RANK_OF_FAILED } from '../schema/merge-failed.ts'
import { EVENT_RECORD, type EventRecord, eventRecord, eventUuid, recordJson } from './event-row.ts'

/** One statement takes so many events, or so much text of them, at most. */
const MOST_EVENTS = 1_000
const MOST_TEXT = 4_194_304

const EVENTS = `select * from rows from (json_to_recordset($1::json) as (${EVENT_RECORD})) with ordinality as e(
  id, "foreignId", "idempotencyKey", channel, type, key, source, handler, payload, bytes, sealed, headers, replay,
  replays, "occurredAt", "expiresAt", place)`

/**
 * Every handler of the channel gets a row; a replay is for the one that failed, and waits for it when it is not there.
 * Without a handler it is for nobody yet.
 */
const FOR_HANDLERS = `from incoming e left join lazaret.outbox_handlers h
  on h.channel = e.channel and (e.handler is null or h.handler = e.handler)`
const TARGET = 'coalesce(h.handler, e.handler)'

const INSERT = `insert into lazaret.outbox (event_id, foreign_id, idempotency_key, channel, type, key, source, target,
    payload, payload_bytes, sealed, headers, generation, lane, replay, replays, occurred_at, expires_at)
  select e.id, e."foreignId", e."idempotencyKey", e.channel, e.type, e.key, e.source, ${TARGET}, e.payload,
    decode(e.bytes, 'base64'), e.sealed, e.headers, $2::bigint, case when h.by_key then nullif(e.key, '') end, e.replay, e.replays,
    to_timestamp(e."occurredAt" / 1000), to_timestamp(e."expiresAt" / 1000)
  ${FOR_HANDLERS}`

const TELL = `select pg_notify('${NOTIFY_CHANNEL}', channel) from unnest($3::text[]) as told(channel)`

/** New events, in whatever transaction this is run in. */
const ENQUEUE = `with incoming as (${EVENTS}), added as (${INSERT} order by e.place, h.handler) ${TELL}`

/** The same for events that are no replays and whose texts can be columns, as nearly all are. */
const ENQUEUE_COLUMNS = `with added as (
  insert into lazaret.outbox (event_id, foreign_id, idempotency_key, channel, type, key, source, target, payload,
    payload_bytes, sealed, headers, generation, lane, occurred_at, expires_at)
  select e.id::uuid, e."foreignId", coalesce(e."idempotencyKey", e."foreignId", e.id), coalesce(e.channel, $16),
    coalesce(e.type, $17), e.key, e.source, h.handler, e.payload::json,
    decode(e.bytes, 'base64'), e.sealed, coalesce(e.headers::jsonb, '{}'), $2::bigint, case when h.by_key then nullif(e.key, '') end,
    to_timestamp(e."occurredAt" / 1000), to_timestamp(e."expiresAt" / 1000)
  from unnest(${[1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13].map(fromColumn).join(', ')}, $14::float8[], $15::float8[])
    with ordinality as e(id, "foreignId", "idempotencyKey", channel, type, key, source, payload, bytes, sealed, headers,
      "occurredAt", "expiresAt", place)
    left join lazaret.outbox_handlers h on h.channel = coalesce(e.channel, $16)
  where e."occurredAt" is not null order by e.place, h.handler
) ${TELL}`

const REPLAYED_BY = `coalesce('replay ' || e.replay, 'published again'), clock_timestamp()`

/**
 * Events that may have failed here before. What is failed is replayed in place: the cycle joins the history, and the row
 * keeps its place before all that have waited for it. Had it been let go, later ones may have overtaken it, so it goes to
 * the end. The rest is new, but for a replay that is on its way already, or of what SQL has sent on its way meanwhile.
 *
 * An event that was published twice may have failed twice for a handler: one of its rows is replayed, see merge-failed.ts.
 */
const PUBLISH = `with incoming as (${EVENTS}),
failed as (
  select o.seq, e.*, ${TARGET} as target, h.by_key, ${RANK_OF_FAILED} as rank
  ${FOR_HANDLERS}
    join lazaret.outbox o on o.event_id = e.id and o.channel = e.channel and o.target = ${TARGET}
  where o.failed_at is not null and o.status = 'failed'
), ${mergeFailed(REPLAYED_BY)}, revived as (
  update lazaret.outbox o set
    failure_history = coalesce(m.history, '[]') || o.failure_history || lazaret.outbox_ended_cycle(o, ${REPLAYED_BY}),
    status = 'pending', owner = null, attempts = 0, attempts_ended = 0, attempt_log = null, last_error = null,
    first_failed_at = null, failed_at = null, deleted_at = null, discarded_at = null, next_attempt_at = statement_timestamp(),
    payload = e.payload, payload_bytes = decode(e.bytes, 'base64'), sealed = e.sealed, headers = e.headers, key = e.key,
    replay = e.replay, replays = greatest(o.replays, m.replays, e.replays),
    letter_kept = o.letter_kept or coalesce(m.letter_kept, false), lane = case when e.by_key then nullif(e.key, '') end,
    seq = case when e.by_key and o.lane is null and e.key <> ''
      then nextval(pg_get_serial_sequence('lazaret.outbox', 'seq')) else o.seq end
  from failed e left join merged m on m.event_id = e.id and m.channel = e.channel and m.target = e.target
  where o.seq = e.seq and e.rank = 1 and o.failed_at is not null and o.status = 'failed'
  returning o.event_id, o.channel, o.target
), added as (
  ${INSERT}
  where not exists (
      select from revived r where r.event_id = e.id and r.channel = e.channel and r.target = ${TARGET})
    and not exists (
      select from lazaret.outbox o where o.event_id = e.id and o.replay = any (array[e.replay, '${BY_SQL}'])
        and e.replay is not null and o.status in ('pending', 'in_flight') and o.channel = e.channel
        and (e.handler is null or o.target = e.handler))
  order by e.place, h.handler
) ${TELL}`

interface Written {
  readonly events: readonly LazaretEvent[]
  readonly generation: number
  /** The channels that others are told of. */
  readonly told: readonly string[]
}

/** 'LZRP': whoever publishes replays holds locks of this class. Events share them, because the server has room for so many. */
const REPLAY_LOCKS = 0x4c5a5250
const LOCK_REPLAYS = `select pg_advisory_xact_lock(${REPLAY_LOCKS}, number)
  from (select distinct hashtext(id) & 1023 as number from unnest($1::text[]) as id order by 1) locks`

/** Whoever replays the same with SQL has these rows. */
const LOCK_FAILED = `select from lazaret.outbox
  where event_id = any ($1::uuid[]) and failed_at is not null order by event_id, seq for update`

/** Of two who replay one event at the same moment the second waits, and finds that it is on its way. */
export async function publishEvents(pool: PgPool, written: Written, codec: EventCodec): Promise<void> {
  const replays = written.events.filter(event => replayOf(event)?.replayId !== undefined)
  if (replays.length === 0) return writeEvents(pool, 'publish', written, codec)
  const doing = 'publishing replays'
  const ids = replays.map(({ id }) => eventUuid(id))
  await inTransaction(pool, doing, async client => {
    await ask(client, doing, LOCK_REPLAYS, [ids])
    await ask(client, doing, LOCK_FAILED, [ids])
    await writeEvents(client, 'publish', written, codec)
  })
}

/** Writes events, a bounded number at a time, after all of them were found to be fit for it. */
export async function writeEvents(
  on: PgQueryable,
  how: 'enqueue' | 'publish',
  { events, generation, told }: Written,
  codec: EventCodec,
): Promise<void> {
  const doing = how === 'enqueue' ? 'enqueueing events' : 'publishing events'
  const rows = events.map(event => eventRecord(event, codec))
  const isPlain = how === 'enqueue' && rows.every(isForColumns)
  for (const batch of gather(rows)) {
    if (isPlain) await ask(on, doing, ENQUEUE_COLUMNS, columnsOf(batch, generation, told))
    else
      await ask(on, doing, how === 'enqueue' ? ENQUEUE : PUBLISH, [
        `[${batch.map(recordJson).join(',')}]`,
        generation,
        told,
      ])
  }
}

/** A replay is for one handler. Texts of an event have no control characters; what a codec makes of one may. */
function isForColumns({ handler, sealed }: EventRecord): boolean {
  return handler === undefined && isFit(sealed)
}

/** What is the same for all, as channel and type mostly are, crosses once. */
function columnsOf(rows: readonly EventRecord[], generation: number, told: readonly string[]): unknown[] {
  const { channel, type } = rows[0]!
  const isOneChannel = rows.every(row => row.channel === channel)
  const isOneType = rows.every(row => row.type === type)
  return [
    column(rows, row => row.id),
    generation,
    told,
    column(rows, row => row.foreignId),
    column(rows, ownKey),
    isOneChannel ? null : column(rows, row => row.channel),
    isOneType ? null : column(rows, row => row.type),
    column(rows, row => row.key),
    column(rows, row => row.source),
    column(rows, row => row.payload),
    column(rows, row => row.bytes),
    column(rows, row => row.sealed),
    column(rows, row => row.headers),
    numbers(rows.map(({ occurredAt }) => occurredAt)),
    numbers(rows.map(({ expiresAt }) => expiresAt ?? null)),
    channel,
    type,
  ]
}

/** An event whose idempotency key is its id need not say so. */
function ownKey({ idempotencyKey, foreignId, id }: EventRecord): string | null {
  return idempotencyKey === (foreignId ?? id) ? null : idempotencyKey
}

function gather(rows: readonly EventRecord[]): EventRecord[][] {
  const batches: EventRecord[][] = []
  let room = 0
  for (const row of rows) {
    const size = (row.payload ?? row.bytes ?? row.sealed ?? '').length + (row.headers?.length ?? 0)
    if (batches.length === 0 || room < size || batches.at(-1)!.length >= MOST_EVENTS) {
      batches.push([])
      room = MOST_TEXT
    }
    batches.at(-1)!.push(row)
    room -= size
  }
  return batches
}
