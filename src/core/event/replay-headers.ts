import { letterId } from '../dead-letter/identity.ts'
import type { LazaretEvent } from './event.ts'

/** Headers that a replay sets, so that the event comes back to the letter it came from. */
export const REPLAY_HEADERS = {
  replayed: 'x-replayed',
  originalId: 'x-original-id',
  idempotencyKey: 'x-idempotency-key',
  replayId: 'x-replay-id',
  replayAttempt: 'x-replay-attempt',
  letterId: 'x-letter-id',
  /** The handler that failed: the others of the channel have handled the event already. */
  handler: 'x-replay-handler',
  /** The trace of the life before, where the replay has one of its own. */
  originalTraceparent: 'x-original-traceparent',
} as const

type Headers = Readonly<Record<string, string>>

const ALL: ReadonlySet<string> = new Set(Object.values(REPLAY_HEADERS))

/** Headers that only a replay sets. The others have a meaning of their own to some programs. */
const MARKS: ReadonlySet<string> = new Set([
  REPLAY_HEADERS.replayed,
  REPLAY_HEADERS.replayId,
  REPLAY_HEADERS.replayAttempt,
  REPLAY_HEADERS.letterId,
  REPLAY_HEADERS.handler,
])

/** What the headers of a replay say about it. */
export interface EventReplay {
  /** 1 is the first replay of the event. */
  readonly attempt: number
  /** Undefined when SQL replayed the event before schema version 3 of Postgres. */
  readonly replayId: string | undefined
  readonly letterId: string | undefined
  /** The only handler that the replay is for; undefined when it was redirected to another channel. */
  readonly handler: string | undefined
}

/**
 * The replay that an event is, or undefined. An event is a replay only if `x-original-id` is its own id: handlers copy
 * headers from one event to the next, and there the headers mean nothing. Everything that reads replay headers asks this.
 */
export function replayOf({ id, headers }: Pick<LazaretEvent, 'id' | 'headers'>): EventReplay | undefined {
  if (headers[REPLAY_HEADERS.originalId] !== id) return undefined
  const attempt = Number(headers[REPLAY_HEADERS.replayAttempt])
  if (!Number.isSafeInteger(attempt) || attempt < 1) return undefined
  return {
    attempt,
    replayId: headers[REPLAY_HEADERS.replayId],
    letterId: headers[REPLAY_HEADERS.letterId],
    handler: headers[REPLAY_HEADERS.handler],
  }
}

/**
 * Names one sending of one letter, or undefined where it has no replay id. A replay that was interrupted sends again what may
 * be on its way already; brokers find that by this name. Two handlers may have failed on one event: these are two sendings.
 */
export function sendingOf(event: LazaretEvent): string | undefined {
  const replay = replayOf(event)
  if (replay?.replayId === undefined) return undefined
  // With the channel: a handler may forward the event to another one while the replay is open here.
  return `${replay.replayId} ${replay.attempt} ${replay.letterId ?? replay.handler ?? ''} ${event.channel}`
}

/** The headers of the event as a replay sends it. They replace those of an earlier replay, so that they never pile up. */
export function replayHeaders(
  { id, idempotencyKey, headers }: Pick<LazaretEvent, 'id' | 'idempotencyKey' | 'headers'>,
  { attempt, replayId, letterId, handler }: Partial<EventReplay>,
): Headers {
  return {
    ...withoutReplayHeaders(headers),
    [REPLAY_HEADERS.replayed]: 'true',
    [REPLAY_HEADERS.originalId]: id,
    [REPLAY_HEADERS.replayAttempt]: String(attempt ?? 1),
    [REPLAY_HEADERS.idempotencyKey]: idempotencyKey,
    ...(letterId === undefined ? {} : { [REPLAY_HEADERS.letterId]: letterId }),
    ...(replayId === undefined ? {} : { [REPLAY_HEADERS.replayId]: replayId }),
    ...(handler === undefined ? {} : { [REPLAY_HEADERS.handler]: handler }),
  }
}

/**
 * The event without the replay headers of another event. Every broker publishes what this returns. A replay for one
 * handler must also stay in the channel of its letter: an event that a handler forwards to another channel under the same
 * id is not a replay there.
 */
export function withoutForeignReplay(event: LazaretEvent): LazaretEvent {
  const { headers } = event
  if (!hasMark(headers)) return event
  const replay = replayOf(event)
  return replay !== undefined && isOfItsChannel(event, replay)
    ? event
    : { ...event, headers: withoutReplayHeaders(headers) }
}

/** The same for many. Nearly always none of them carries replay headers, and the list stays as it is. */
export function withoutForeignReplays(events: readonly LazaretEvent[]): readonly LazaretEvent[] {
  return events.some(({ headers }) => hasMark(headers)) ? events.map(withoutForeignReplay) : events
}

function hasMark(headers: Headers): boolean {
  for (const name in headers) if (MARKS.has(name)) return true
  return false
}

function isOfItsChannel(event: LazaretEvent, replay: EventReplay): boolean {
  if (replay.handler === undefined || replay.letterId === undefined) return true
  return replay.letterId === letterId(event.channel, replay.handler, event)
}

/** Headers as they were before any replay. */
export function withoutReplayHeaders(headers: Headers): Headers {
  const names = Object.keys(headers)
  if (!names.some(name => ALL.has(name))) return headers
  return Object.fromEntries(names.filter(name => !ALL.has(name)).map(name => [name, headers[name]!]))
}

/** Headers of an event that is replayed once more: what it leads back to now is its own context, no more the one before. */
export function withoutEarlierTrace(headers: Headers): Headers {
  if (headers[REPLAY_HEADERS.originalTraceparent] === undefined) return headers
  const { [REPLAY_HEADERS.originalTraceparent]: _, ...rest } = headers
  return rest
}

/**
 * The letter of an event that a replay sent to another channel than its own. A replay that stays in its channel is for one
 * handler; one that does not is for all of them.
 */
export function redirectedFrom(event: Pick<LazaretEvent, 'id' | 'headers'>): string | undefined {
  const replay = replayOf(event)
  return replay?.handler === undefined ? replay?.letterId : undefined
}
