import { decodeAttempts, encodeAttempts } from '../../../adapter-kit/delivery/attempt-history.ts'
import { TrackedDelivery } from '../../../adapter-kit/delivery/tracked-delivery.ts'
import { undecodable } from '../../../adapter-kit/wire/content.ts'
import type { AttemptRecord } from '../../../core/dead-letter/letter.ts'
import { decodeBase64 } from '../../../core/event/base64.ts'
import type { LazaretEvent } from '../../../core/event/event.ts'
import { requireEvent } from '../../../core/event/json.ts'
import { REPLAY_HEADERS, replayOf, withoutEarlierTrace } from '../../../core/event/replay-headers.ts'
import type { Undecodable } from '../../../ports/broker.ts'
import type { EventCodec, TextCodec } from '../../../ports/codec.ts'

const RARE_COLUMNS =
  'o.attempt_log, o.letter_id, o.foreign_id, o.key, o.source, o.payload_bytes, o.sealed, o.expires_at'

/**
 * A claimed row `o` as one text of JSON, a `ClaimedRow`: a row of many columns costs the client several times as much. The
 * columns that most rows lack come last, and only if they have a value, because each value costs the server.
 */
export const CLAIMED_ROW = `json_build_array(o.seq, date_part('epoch', o.next_attempt_at), o.attempts, o.attempts_ended,
  o.event_id, o.idempotency_key, o.type, o.payload, o.headers, date_part('epoch', o.occurred_at) * 1000,
  case when num_nonnulls(${RARE_COLUMNS}) > 0
    then json_build_array(o.attempt_log, o.letter_id, o.letter_kept, o.foreign_id, o.key, o.source,
      encode(o.payload_bytes, 'base64'), o.sealed, date_part('epoch', o.expires_at) * 1000) end)::text as row`

const NO_RARE_VALUES: RareValues = [null, null, false, null, null, null, null, null, null]

type RareValues = readonly [
  attemptLog: readonly AttemptRecord[] | null,
  letterId: string | null,
  letterKept: boolean,
  foreignId: string | null,
  key: string | null,
  source: string | null,
  bytes: string | null,
  sealed: string | null,
  expiresAt: number | null,
]

/**
 * What CLAIMED_ROW selects. `due` is the time from which the row may be delivered, in seconds. Its values are read by their
 * places: an array that is taken apart in order makes an object for each value.
 */
export type ClaimedRow = readonly [
  seq: number,
  due: number,
  attempts: number,
  attemptsEnded: number,
  id: string,
  idempotencyKey: string | null,
  type: string,
  payload: unknown,
  headers: LazaretEvent['headers'],
  occurredAt: number,
  rare: RareValues | null,
]

/** The first columns change with every delivery. Those from here on belong to the event. */
const FIRST_EVENT_COLUMN = 4

/** A claim, as the deliveries of its rows name it. */
interface ClaimOrigin {
  readonly channel: string
  /** The number of the claim. */
  readonly number: number
  /** The lease of the process that claims. */
  readonly owner: number
  readonly broker: string
}

const NO_ATTEMPTS: readonly AttemptRecord[] = Object.freeze([])

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

  constructor(row: ClaimedRow, { channel, number, owner, broker }: ClaimOrigin, codec: EventCodec) {
    const { 0: seq, 2: started, 3: ended, 10: rare } = row
    const { 0: attemptLog, 1: letterId, 2: isLetterKept } = rare ?? NO_RARE_VALUES
    const history = attemptLog === null ? NO_ATTEMPTS : decodeAttempts(attemptLog, codec.texts)
    super(
      channel,
      readEvent(row, channel, codec),
      { broker, queue: channel, offset: seq },
      { started, ended, history },
    )
    this.seq = seq
    this.owner = owner
    this.claim = number
    this.keptLetterId = isLetterKept ? (letterId ?? undefined) : undefined
    this.#texts = codec.texts
  }

  /** Attempts of the current cycle without the one that has started and not ended. */
  get attemptsTakenBack(): number {
    return this.startedNow - (this.running > 0 ? 1 : 0)
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

/** An event that cannot be read is delivered as it is. */
function readEvent(row: ClaimedRow, channel: string, codec: EventCodec): LazaretEvent | Undecodable {
  const { 7: payload, 8: headers, 10: rare } = row
  const sealed = rare === null ? null : rare[7]
  try {
    return sealed === null ? readPlain(row, channel) : readSealed(headers, sealed, codec)
  } catch (error) {
    const raw = sealed ?? JSON.stringify(payload ?? row.slice(FIRST_EVENT_COLUMN))
    return undecodable(Buffer.from(raw), error)
  }
}

/** The values come from JSON that only this row has, so the event is made of them without a copy. */
function readPlain(row: ClaimedRow, channel: string): LazaretEvent {
  const { 4: rowId, 5: idempotencyKey, 6: type, 7: payload, 8: headers, 9: occurredAt, 10: rare } = row
  const { 3: foreignId, 4: key, 5: source, 6: bytes, 8: expiresAt } = rare ?? NO_RARE_VALUES
  const id = foreignId ?? rowId
  return requireEvent(
    {
      v: 1,
      id,
      type,
      channel,
      key: key ?? undefined,
      idempotencyKey: idempotencyKey ?? id,
      occurredAt: Math.floor(occurredAt),
      expiresAt: expiresAt === null ? undefined : Math.floor(expiresAt),
      source: source ?? undefined,
      headers: isReplayedWithoutId(id, headers) ? withoutEarlierTrace(headers) : headers,
      payload: bytes === null ? payload : decodeBase64(bytes.replaceAll('\n', '')),
    },
    channel,
  )
}

/** A replay by SQL cannot open the seal: its headers lie beside it, and replace those of the replay before. */
function readSealed(headers: LazaretEvent['headers'], sealed: string, codec: EventCodec): LazaretEvent {
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
function isReplayedWithoutId(id: string, headers: LazaretEvent['headers'] | null): boolean {
  const replay = headers === null ? undefined : replayOf({ id, headers })
  return replay !== undefined && replay.replayId === undefined
}
