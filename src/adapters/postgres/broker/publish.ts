import { encodeBase64 } from '../../../core/event/base64.ts'
import { EventError } from '../../../core/event/errors.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { encodePayload } from '../../../core/event/json.ts'
import { isBytes } from '../../../core/event/plain.ts'
import { replayOf, sendingOf } from '../../../core/event/replay-headers.ts'
import { hash128 } from '../../../core/hash.ts'
import type { Fault } from '../../../core/options/faults.ts'
import { show } from '../../../core/options/show.ts'
import { type EventCodec, plainCodec } from '../../../ports/codec.ts'
import type { PgPool, PgQueryable } from '../connection/client.ts'
import { inTransaction, runQuery } from '../connection/query.ts'
import { arrayOf, isPackable, packColumn, unpackColumn } from '../connection/values.ts'
import { NOTIFY_CHANNEL } from '../schema/functions.ts'
import { BY_SQL, mergeFailed, RANK_OF_FAILED } from '../schema/replay-function.ts'
import { REPLAY_LOCK, REPLAY_LOCKS } from '../schema/unblock.ts'

/** One statement writes at most this many events and this much text. */
const MAX_EVENTS = 1_000
const MAX_TEXT = 4_194_304

const EVENTS = `select * from rows from (json_to_recordset($1::json) as (id uuid, "foreignId" text, "idempotencyKey" text,
    channel text, type text, key text, source text, handler text, payload json, bytes text, sealed text, headers jsonb,
    replay text, replays integer, "occurredAt" float8, "expiresAt" float8)) with ordinality as e(
  id, "foreignId", "idempotencyKey", channel, type, key, source, handler, payload, bytes, sealed, headers, replay,
  replays, "occurredAt", "expiresAt", place)`

/**
 * Every handler of the channel gets a row. A replay is for the handler that failed, and waits if that handler is absent.
 * Without a handler the row has no target yet.
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

const NOTIFY = `select pg_notify('${NOTIFY_CHANNEL}', channel) from unnest($3::text[]) as notified(channel)`

/** New events, in whatever transaction this is run in. */
const ENQUEUE = `with incoming as (${EVENTS}), added as (${INSERT} order by e.place, h.handler) ${NOTIFY}`

/** The same for events that are not replays and whose texts can be packed, as nearly all are. */
const ENQUEUE_PACKED = `with added as (
  insert into lazaret.outbox (event_id, foreign_id, idempotency_key, channel, type, key, source, target, payload,
    payload_bytes, sealed, headers, generation, lane, occurred_at, expires_at)
  select e.id::uuid, e."foreignId", coalesce(e."idempotencyKey", e."foreignId", e.id), coalesce(e.channel, $16),
    coalesce(e.type, $17), e.key, e.source, h.handler, e.payload::json,
    decode(e.bytes, 'base64'), e.sealed, coalesce(e.headers::jsonb, '{}'), $2::bigint, case when h.by_key then nullif(e.key, '') end,
    to_timestamp(e."occurredAt" / 1000), to_timestamp(e."expiresAt" / 1000)
  from unnest(${[1, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13].map(unpackColumn).join(', ')}, $14::float8[], $15::float8[])
    with ordinality as e(id, "foreignId", "idempotencyKey", channel, type, key, source, payload, bytes, sealed, headers,
      "occurredAt", "expiresAt", place)
    left join lazaret.outbox_handlers h on h.channel = coalesce(e.channel, $16)
  where e."occurredAt" is not null order by e.place, h.handler
) ${NOTIFY}`

const REPLAYED_BY = `coalesce('replay ' || e.replay, 'published again'), clock_timestamp()`

/**
 * Events that may have failed here before. A failed row is replayed in place: the cycle joins the history, and the row
 * keeps its place before all that have waited for it. If its key was unblocked, later rows may have overtaken it, so it
 * goes to the end. Other events are new rows, unless their replay is on its way already, by this id or by SQL.
 *
 * An event that was published twice may have failed twice for a handler. Then one of its rows is replayed, see
 * `mergeFailed`.
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
) ${NOTIFY}`

interface RowBatch {
  readonly events: readonly LazaretEvent[]
  readonly generation: number
  /** The channels that are notified in the same transaction. */
  readonly notified: readonly string[]
}

const LOCK_REPLAYS = `select pg_advisory_xact_lock(${REPLAY_LOCKS}, number)
  from (select distinct ${REPLAY_LOCK('id')} as number from unnest($1::text[]) as id order by 1) locks`

/** A replay by SQL of the same events locks these rows too. */
const LOCK_FAILED = `select from lazaret.outbox
  where event_id = any ($1::uuid[]) and failed_at is not null order by event_id, seq for update`

/** If two processes replay one event at the same moment, the second waits and then finds the replay in progress. */
export async function publishEvents(pool: PgPool, batch: RowBatch, codec: EventCodec): Promise<void> {
  const replays = batch.events.filter(event => replayOf(event)?.replayId !== undefined)
  if (replays.length === 0) return writeEvents(pool, 'publish', batch, codec)
  const doing = 'publishing replays'
  const ids = replays.map(({ id }) => id)
  await inTransaction(pool, doing, async client => {
    await lockReplays(client, doing, ids)
    await runQuery(client, doing, LOCK_FAILED, [ids.map(eventUuid)])
    await writeEvents(client, 'publish', batch, codec)
  })
}

/** Until the transaction ends, no other one publishes replays of these events. */
export async function lockReplays(
  on: PgQueryable,
  doing: string,
  eventIds: readonly string[],
): Promise<void> {
  await runQuery(on, doing, LOCK_REPLAYS, [eventIds.map(eventUuid)])
}

/** Writes events in bounded statements. All events are checked before the first statement. */
export async function writeEvents(
  on: PgQueryable,
  how: 'enqueue' | 'publish',
  { events, generation, notified }: RowBatch,
  codec: EventCodec,
): Promise<void> {
  const doing = how === 'enqueue' ? 'enqueueing events' : 'publishing events'
  const rows = events.map(event => eventRecord(event, codec))
  // A replay names its handler. The texts of an event have no control characters, but a sealed text may.
  const isPacked =
    how === 'enqueue' && rows.every(({ handler, sealed }) => handler === undefined && isPackable(sealed))
  const statement = isPacked ? ENQUEUE_PACKED : how === 'enqueue' ? ENQUEUE : PUBLISH
  for (const portion of portionsOf(rows)) {
    const values = isPacked
      ? packRows(portion, generation, notified)
      : [`[${portion.map(recordJson).join(',')}]`, generation, notified]
    await runQuery(on, doing, statement, values)
  }
}

/** The UUID that an event is found by: its id, or one derived from an id of another form. */
export function eventUuid(id: string): string {
  if (UUID.test(id)) return id
  const hash = hash128(id)
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20)}`
}

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/

/** An event as it is written: texts, of which payload and headers are JSON. */
type EventRecord = ReturnType<typeof eventRecord>

type Content = Partial<Record<'payload' | 'bytes' | 'sealed' | 'headers', string | undefined>>

function eventRecord(event: LazaretEvent, codec: EventCodec) {
  const { id, channel, type, key, source, idempotencyKey, occurredAt, expiresAt } = event
  const uuid = eventUuid(id)
  const replay = replayOf(event)
  return {
    id: uuid,
    foreignId: uuid === id ? undefined : id,
    idempotencyKey,
    channel,
    type,
    key,
    source,
    handler: replay?.handler,
    replay: sendingOf(event),
    replays: replay?.attempt ?? 0,
    ...contentOf(event, codec),
    occurredAt,
    expiresAt,
  }
}

function contentOf(event: LazaretEvent, codec: EventCodec): Content {
  if (codec !== plainCodec.events) return { sealed: codec.encode(event) }
  const headers = Object.keys(event.headers).length === 0 ? undefined : JSON.stringify(event.headers)
  if (isBytes(event.payload)) return { bytes: encodeBase64(event.payload), headers }
  const payload = encodePayload(event)
  requireStorable(event, payload)
  return { payload, headers }
}

/** The record as JSON that EVENTS reads. Payload and headers are in it as the JSON they are. */
function recordJson({ payload, headers, ...texts }: EventRecord): string {
  const envelope = JSON.stringify(texts)
  const content = payload === undefined ? '' : `"payload":${payload},`
  return `${envelope.slice(0, -1)},${content}"headers":${headers ?? '{}'}}`
}

/** The parameters of ENQUEUE_PACKED. A channel or type that all events share crosses once. */
function packRows(rows: readonly EventRecord[], generation: number, notified: readonly string[]): unknown[] {
  const { channel, type } = rows[0]!
  const isOneChannel = rows.every(row => row.channel === channel)
  const isOneType = rows.every(row => row.type === type)
  return [
    packColumn(rows, row => row.id),
    generation,
    notified,
    packColumn(rows, row => row.foreignId),
    packColumn(rows, ownKey),
    isOneChannel ? null : packColumn(rows, row => row.channel),
    isOneType ? null : packColumn(rows, row => row.type),
    packColumn(rows, row => row.key),
    packColumn(rows, row => row.source),
    packColumn(rows, row => row.payload),
    packColumn(rows, row => row.bytes),
    packColumn(rows, row => row.sealed),
    packColumn(rows, row => row.headers),
    arrayOf(rows.map(({ occurredAt }) => occurredAt)),
    arrayOf(rows.map(({ expiresAt }) => expiresAt ?? null)),
    channel,
    type,
  ]
}

/** Null for an idempotency key that is the event's id, which the statement fills in. */
function ownKey({ idempotencyKey, foreignId, id }: EventRecord): string | null {
  return idempotencyKey === (foreignId ?? id) ? null : idempotencyKey
}

function portionsOf(rows: readonly EventRecord[]): EventRecord[][] {
  const portions: EventRecord[][] = []
  let room = 0
  for (const row of rows) {
    const size = (row.payload ?? row.bytes ?? row.sealed ?? '').length + (row.headers?.length ?? 0)
    if (portions.length === 0 || room < size || portions.at(-1)!.length >= MAX_EVENTS) {
      portions.push([])
      room = MAX_TEXT
    }
    portions.at(-1)!.push(row)
    room -= size
  }
  return portions
}

/** The JSON form of NUL and of halves of surrogate pairs. The backslash before it may itself be escaped. */
const SUSPICIOUS = /\\u(?:0000|d[89a-f])/
const MAX_FAULTS = 20

/**
 * Refuses a payload that Postgres could store as text but not work with: `payload ->> 'name'` fails on NUL and on half a
 * surrogate pair. `json` is the payload's text, which shows at once that nearly every payload is fine.
 */
function requireStorable(event: LazaretEvent, json: string): void {
  if (!SUSPICIOUS.test(json)) return
  const faults: Fault[] = []
  checkValue(event.payload, 'payload', faults)
  if (faults.length > 0) throw new EventError(`event ${show(event.id)}`, faults)
}

function checkValue(value: unknown, path: string, faults: Fault[]): void {
  if (faults.length >= MAX_FAULTS) return
  if (typeof value === 'string') checkText(value, path, faults)
  else if (typeof value === 'object' && value !== null)
    for (const [name, member] of Object.entries(value)) {
      checkText(name, `a name in ${path}`, faults)
      checkValue(member, Array.isArray(value) ? `${path}[${name}]` : `${path}.${name}`, faults)
    }
}

function checkText(text: string, path: string, faults: Fault[]): void {
  const remedy = 'remove it, or send the payload as bytes'
  if (text.includes('\0'))
    faults.push({ path, received: 'a text with a NUL character, which Postgres cannot hold', remedy })
  else if (!text.isWellFormed())
    faults.push({ path, received: 'a text with half a surrogate pair, which Postgres cannot hold', remedy })
}
