import { createLetter } from '../../core/dead-letter/create.ts'
import { letterId } from '../../core/dead-letter/identity.ts'
import type { DeadLetter, Origin } from '../../core/dead-letter/letter.ts'
import { checkEvent } from '../../core/event/check.ts'
import type { LazaretEvent } from '../../core/event/event.ts'
import {
  MAX_ID_BYTES,
  MAX_IDEMPOTENCY_KEY_BYTES,
  MAX_TYPE_BYTES,
  WIDEST_EVENT_LIMITS,
} from '../../core/event/limits.ts'
import { REPLAY_HEADERS, replayOf } from '../../core/event/replay-headers.ts'
import { cleanTextBytes } from '../../core/event/text.ts'
import { MAX_TIME_MS } from '../../core/event/uuid.ts'
import { hash128 } from '../../core/hash.ts'
import type { FailureCache } from './failure-cache.ts'
import { fieldsOf } from './record-forms.ts'
import { headerReader, type RecordHeader } from './record-headers.ts'

/** The failure that another program, or the server, wrote on a message. */
export interface ForeignFault {
  readonly writtenBy: string
  readonly error: string
  readonly message: string
  readonly stack?: string | undefined
  /** The time of the failure. Most programs do not write it. */
  readonly at?: number | undefined
  /** The time of the original message. */
  readonly timestamp?: number | undefined
  readonly attempts: number
  /** Facts that only this program writes. */
  readonly detail?: Readonly<Record<string, string>> | undefined
}

/** A message of another program that is to be a letter. */
export interface ForeignMessage {
  readonly key: Buffer | null
  readonly value: Buffer | null
  readonly headers: readonly RecordHeader[]
  /** Names it for good: its place, and its time, because places begin again when a topic or stream is created again. */
  readonly place: string
  /** When it was written to where it was found. */
  readonly writtenAt: number | undefined
  readonly channel: string
  readonly handler: string
  /** Its type, if no header says it. */
  readonly type: string
  /** Headers that can say its type or its id, the best one first. */
  readonly typeHeaders: readonly string[]
  readonly idHeader: string
  /** Whether a header describes the failure. The letter keeps it, and a replay does not send it. */
  isFaultHeader(name: string): boolean
  readonly fault: ForeignFault | undefined
  readonly origin: Origin
}

interface CollectionContext {
  /** The kind of the broker. */
  readonly kind: string
  readonly now: number
  readonly failures: FailureCache
}

export interface CollectedLetter {
  readonly letter: DeadLetter
  /** False if the message has no time. Then the time is that of the collection, and each reading gives another one. */
  readonly isTimeKnown: boolean
}

/** The letter for a message, no matter which program wrote it. Every reading of the message gives the same letter. */
export function foreignLetter(message: ForeignMessage, context: CollectionContext): CollectedLetter {
  const { fault, handler } = message
  const knownAt = validTime(fault?.at) ?? validTime(message.writtenAt)
  const at = knownAt ?? context.now
  const { event, origin } = collectedEvent(message, context.kind, at)
  const claimed = replayOf(event)
  const replay = claimed?.letterId === letterId(event.channel, handler, event) ? claimed : undefined
  const letter = createLetter({
    event,
    handler,
    reason: 'collected',
    at,
    failure: fault && context.failures.of({ name: fault.error, message: fault.message, stack: fault.stack }),
    attemptCount: fault?.attempts ?? 0,
    origin: { ...message.origin, writtenBy: fault?.writtenBy ?? 'other', ...origin },
    replay: replay?.attempt,
    replayId: replay?.replayId,
    // Every producer can write these headers, so the saver compares them with the stored letter.
    isUnverified: replay !== undefined,
    detail: fault?.detail,
  })
  return { letter, isTimeKnown: knownAt !== undefined }
}

function validTime(ms: number | undefined): number | undefined {
  return ms !== undefined && Number.isSafeInteger(ms) && ms > 0 && ms <= MAX_TIME_MS ? ms : undefined
}

const UNNAMED = 'message'

function collectedEvent(
  message: ForeignMessage,
  kind: string,
  at: number,
): { readonly event: LazaretEvent; readonly origin: Origin } {
  const headers = headerReader(message.headers)
  const kept = message.headers.filter(([name]) => !message.isFaultHeader(name.toString('utf8')))
  const fields = fieldsOf(message.key, message.value, kept)
  const id = idOf(message, headers.last, kind)
  const fitting = (name: string, bytes: number) => fittingText(headers.last(name), bytes)
  const types = message.typeHeaders.map(name => fitting(name, MAX_TYPE_BYTES))
  const event: LazaretEvent = {
    v: 1,
    id,
    type: types.find(each => each !== undefined) ?? fittingText(message.type, MAX_TYPE_BYTES) ?? UNNAMED,
    channel: message.channel,
    key: fields.key,
    idempotencyKey:
      fitting(REPLAY_HEADERS.idempotencyKey, MAX_IDEMPOTENCY_KEY_BYTES) ??
      fitting(message.idHeader, MAX_IDEMPOTENCY_KEY_BYTES) ??
      id,
    occurredAt: validTime(message.fault?.timestamp) ?? validTime(message.writtenAt) ?? at,
    expiresAt: undefined,
    source: undefined,
    headers: fields.headers,
    payload: fields.payload,
  }
  if (checkEvent(event, WIDEST_EVENT_LIMITS).length === 0) return { event, origin: fields.origin }
  const stored = { ...event, key: undefined, headers: {}, payload: new Uint8Array(message.value ?? []) }
  return { event: stored, origin: { unkept: 'it is not valid for an event; send it manually' } }
}

/**
 * The id of the event. A replay brings the id that its event had in the first cycle. It counts only if the message also
 * names the letter of that id, because handlers copy headers from one message to the next.
 */
function idOf(
  { place, channel, handler }: ForeignMessage,
  header: (name: string) => string | undefined,
  kind: string,
): string {
  const original = fittingText(header(REPLAY_HEADERS.originalId), MAX_ID_BYTES)
  if (original !== undefined) {
    const isOfThis = header(REPLAY_HEADERS.letterId) === letterId(channel, handler, { id: original })
    if (isOfThis) return original
  }
  return place.length <= MAX_ID_BYTES ? place : `${kind}-${hash128(place)}`
}

function fittingText(text: string | undefined, maxBytes: number): string | undefined {
  if (text === undefined || text === '') return undefined
  const bytes = cleanTextBytes(text)
  return bytes !== undefined && bytes <= maxBytes ? text : undefined
}
