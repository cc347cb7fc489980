import { decodeAttempts, encodeAttempts } from '../../../adapter-kit/delivery/attempt-history.ts'
import { TrackedDelivery } from '../../../adapter-kit/delivery/tracked-delivery.ts'
import type { AttemptRecord } from '../../../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { eventFromJson } from '../../../core/event/json.ts'
import { REPLAY_HEADERS, replayOf, withoutEarlierTrace } from '../../../core/event/replay-headers.ts'
import type { Undecodable } from '../../../ports/broker.ts'
import type { EventCodec, TextCodec } from '../../../ports/codec.ts'

const RARE_COLUMNS =
  'o.attempt_log, o.letter_id, o.foreign_id, o.key, o.source, o.payload_bytes, o.sealed, o.expires_at'

/**
 * A claimed row `o` as one text, which `readRow` reads: a row of many columns costs the client several times as much. The
 * columns that most rows lack come last, and only if they have a value, because each value costs the server.
 */
export const CLAIMED_ROW = `json_build_array(o.seq, date_part('epoch', o.next_attempt_at), o.attempts, o.attempts_ended,
  o.event_id, o.idempotency_key, o.type, o.payload, o.headers, date_part('epoch', o.occurred_at) * 1000,
  case when num_nonnulls(${RARE_COLUMNS}) > 0
    then json_build_array(o.attempt_log, o.letter_id, o.letter_kept, o.foreign_id, o.key, o.source,
      encode(o.payload_bytes, 'base64'), o.sealed, date_part('epoch', o.expires_at) * 1000) end)::text as row`

const NO_RARE_VALUES = [null, null, false, null, null, null, null, null, null] as const

export interface ClaimedRow {
  readonly seq: number
  /** The number of the claim that took it. */
  readonly claim: number
  /** The time from which it may be delivered, in seconds. */
  readonly due: number
  readonly attempts: number
  readonly attemptsEnded: number
  readonly attemptLog: readonly AttemptRecord[] | null
  readonly letterId: string | null
  readonly letterKept: boolean
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

/** Reads what CLAIMED_ROW selects. */
export function readRow(text: string, channel: string, claim: number): ClaimedRow {
  const [seq, due, attempts, attemptsEnded, id, idempotencyKey, type, payload, headers, occurredAt, rare] =
    JSON.parse(text)
  const [attemptLog, letterId, letterKept, foreignId, key, source, bytes, sealed, expiresAt] =
    rare ?? NO_RARE_VALUES
  return {
    seq,
    claim,
    due,
    attempts,
    attemptsEnded,
    attemptLog,
    letterId,
    letterKept,
    id,
    foreignId,
    idempotencyKey,
    channel,
    type,
    key,
    source,
    payload,
    bytes,
    sealed,
    headers,
    occurredAt,
    expiresAt,
  }
}

/** One delivery of a claimed row. */
export class OutboxDelivery extends TrackedDelivery {
  readonly seq: number
  /** The lease of the process that claimed it. */
  readonly owner: number
  /** The claim that took it. The row may be claimed again while this delivery still counts as open here. */
  readonly claim: number
  /** The letter of its event that is kept in this database and nowhere else. */
  readonly keptLetterId: string | undefined
  readonly #texts: TextCodec | undefined

  constructor(row: ClaimedRow, owner: number, broker: string, codec: EventCodec) {
    super(
      row.channel,
      readEvent(row, codec),
      { broker, queue: row.channel, offset: row.seq },
      {
        started: row.attempts,
        ended: row.attemptsEnded,
        history: decodeAttempts(row.attemptLog ?? [], codec.texts),
      },
    )
    this.seq = row.seq
    this.owner = owner
    this.claim = row.claim
    this.keptLetterId = row.letterKept ? (row.letterId ?? undefined) : undefined
    this.#texts = codec.texts
  }

  /** Attempts of the current cycle without the one that has started and not ended. */
  get attemptsTakenBack(): number {
    return this.log.started - (this.running > 0 ? 1 : 0)
  }

  /** Attempts of earlier deliveries that never ended. */
  get crashes(): number {
    return this.started - this.ended
  }

  /** Whether error texts are sealed at rest. */
  get isSealed(): boolean {
    return this.#texts !== undefined
  }

  /** The attempts of the cycle as they are written. Null when none ended in this delivery. */
  get attemptLog(): string | null {
    return this.hasNewEnds ? JSON.stringify(encodeAttempts(this.log.history, this.#texts)) : null
  }
}

/** An event that cannot be read is delivered as it is, and becomes a dead letter. */
function readEvent(row: ClaimedRow, codec: EventCodec): LazaretEvent | Undecodable {
  try {
    return row.sealed === null ? readPlain(row) : readSealed(row, row.sealed, codec)
  } catch (error) {
    const problem = error instanceof Error ? error.message : String(error)
    return { raw: new TextEncoder().encode(row.sealed ?? JSON.stringify(row.payload ?? row)), problem }
  }
}

function readPlain({ id, foreignId, payload, bytes, ...row }: ClaimedRow): LazaretEvent {
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
function readSealed({ headers }: ClaimedRow, sealed: string, codec: EventCodec): LazaretEvent {
  const event = codec.decode(sealed)
  if (replayOf({ id: event.id, headers }) === undefined)
    return { ...event, headers: { ...event.headers, ...headers } }
  const { [REPLAY_HEADERS.replayId]: _, ...own } = event.headers
  return { ...event, headers: { ...withoutEarlierTrace(own), ...headers } }
}

/**
 * Whether SQL replayed the event before schema version 3. Such a replay has no id, and keeps the headers of a traced
 * replay before it although it does not belong to that trace.
 */
function isReplayedWithoutId(id: string, headers: ClaimedRow['headers'] | null): boolean {
  const replay = headers === null ? undefined : replayOf({ id, headers })
  return replay !== undefined && replay.replayId === undefined
}
