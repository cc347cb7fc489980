import { encodeBase64 } from '../../../core/event/base64.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { encodePayload, eventFromJson } from '../../../core/event/json.ts'
import { isBytes } from '../../../core/event/plain.ts'
import {
  REPLAY_HEADERS,
  replayOf,
  sendingOf,
  withoutEarlierTrace,
} from '../../../core/event/replay-headers.ts'
import { hash128 } from '../../../core/hash.ts'
import type { Undecodable } from '../../../ports/broker.ts'
import { type EventCodec, plainCodec } from '../../../ports/codec.ts'
import { requireHoldable } from './unholdable.ts'

const UUID = /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/

/** The columns of an event as they cross to the server, and their types there. */
export const EVENT_RECORD = `id uuid, "foreignId" text, "idempotencyKey" text, channel text, type text, key text,
  source text, handler text, payload json, bytes text, sealed text, headers jsonb, replay text, replays integer,
  "occurredAt" float8, "expiresAt" float8`

/** What is selected of a row to make its event of, in the order that `readRow` reads them in. */
export const EVENT_COLUMNS = `o.event_id, o.idempotency_key, o.type, o.payload, o.headers,
  date_part('epoch', o.occurred_at) * 1000`

/** The same of what most events do not have. */
export const RARE_EVENT_COLUMNS = `o.foreign_id, o.key, o.source, encode(o.payload_bytes, 'base64'), o.sealed,
  date_part('epoch', o.expires_at) * 1000`
export const RARE_EVENT_NAMES = 'o.foreign_id, o.key, o.source, o.payload_bytes, o.sealed, o.expires_at'

export interface EventRow {
  readonly id: string
  readonly foreignId: string | null
  readonly idempotencyKey: string | null
  readonly channel: string
  readonly type: string
  readonly key: string | null
  readonly source: string | null
  readonly payload: unknown
  readonly bytes: string | null
  readonly sealed: string | null
  readonly headers: LazaretEvent['headers']
  readonly occurredAt: number
  readonly expiresAt: number | null
}

/** The UUID that an event is found by: its id, or one made of it where that is none. */
export function eventUuid(id: string): string {
  if (UUID.test(id)) return id
  const hash = hash128(id)
  return `${hash.slice(0, 8)}-${hash.slice(8, 12)}-8${hash.slice(13, 16)}-8${hash.slice(17, 20)}-${hash.slice(20)}`
}

/** An event as it is written: texts, of which payload and headers are JSON. */
export interface EventRecord {
  readonly id: string
  readonly foreignId: string | undefined
  readonly idempotencyKey: string
  readonly channel: string
  readonly type: string
  readonly key: string | undefined
  readonly source: string | undefined
  /** Of a replay: whom it is for. */
  readonly handler: string | undefined
  readonly replay: string | undefined
  readonly replays: number
  readonly payload: string | undefined
  readonly bytes: string | undefined
  readonly sealed: string | undefined
  readonly headers: string | undefined
  readonly occurredAt: number
  readonly expiresAt: number | undefined
}

export function eventRecord(event: LazaretEvent, codec: EventCodec): EventRecord {
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
    payload: undefined,
    bytes: undefined,
    sealed: undefined,
    headers: undefined,
    ...contentOf(event, codec),
    occurredAt,
    expiresAt,
  }
}

function contentOf(event: LazaretEvent, codec: EventCodec): Partial<EventRecord> {
  if (codec !== plainCodec.events) return { sealed: codec.encode(event) }
  const headers = writeHeaders(event.headers)
  if (isBytes(event.payload)) return { bytes: encodeBase64(event.payload), headers }
  const payload = encodePayload(event)
  requireHoldable(event, payload)
  return { payload, headers }
}

/** Undefined when there are none. */
function writeHeaders(headers: LazaretEvent['headers']): string | undefined {
  for (const _ in headers) return JSON.stringify(headers)
  return undefined
}

/** As JSON that `json_to_recordset` reads as EVENT_RECORD. Payload and headers lie in it as the text they are. */
export function recordJson({ payload, headers, ...texts }: EventRecord): string {
  const envelope = JSON.stringify(texts)
  const content = payload === undefined ? '' : `"payload":${payload},`
  return `${envelope.slice(0, -1)},${content}"headers":${headers ?? '{}'}}`
}

/** What cannot be read is handed over as it is: it becomes a dead letter like everything else. */
export function readEvent(row: EventRow, codec: EventCodec): LazaretEvent | Undecodable {
  try {
    return row.sealed === null ? readPlain(row) : readSealed(row, row.sealed, codec)
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    return { raw: new TextEncoder().encode(row.sealed ?? JSON.stringify(row.payload ?? row)), problem }
  }
}

function readPlain({ id, foreignId, payload, bytes, ...row }: EventRow): LazaretEvent {
  const eventId = foreignId ?? id
  return eventFromJson({
    v: 1,
    id: eventId,
    type: row.type,
    channel: row.channel,
    key: row.key ?? undefined,
    idempotencyKey: row.idempotencyKey ?? eventId,
    occurredAt: Math.floor(row.occurredAt),
    expiresAt: row.expiresAt === null ? undefined : Math.floor(row.expiresAt),
    source: row.source ?? undefined,
    headers: isReplayedWithoutId(eventId, row.headers) ? withoutEarlierTrace(row.headers) : row.headers,
    ...(bytes === null ? { payload } : { payloadBase64: bytes.replaceAll('\n', '') }),
  })
}

/** A replay by SQL cannot open the seal: its headers lie beside it, and replace those of the replay before. */
function readSealed({ headers }: EventRow, sealed: string, codec: EventCodec): LazaretEvent {
  const event = codec.decode(sealed)
  if (replayOf({ id: event.id, headers }) === undefined)
    return { ...event, headers: { ...event.headers, ...headers } }
  const { [REPLAY_HEADERS.replayId]: _, ...own } = event.headers
  return { ...event, headers: { ...withoutEarlierTrace(own), ...headers } }
}

/**
 * Replayed by SQL before schema version 3: such a replay has no id, and leaves the headers of a traced replay before it,
 * whose trace it is no part of.
 */
function isReplayedWithoutId(id: string, headers: EventRow['headers'] | null): boolean {
  const replay = headers === null ? undefined : replayOf({ id, headers })
  return replay !== undefined && replay.replayId === undefined
}
