import { letterId } from '../dead-letter/identity.ts'
import type { LazaretEvent } from './event.ts'

/** Headers that a replay sets. They lead a failure of the replay to the letter that was replayed. */
export const REPLAY_HEADERS = {
  replayed: 'x-replayed',
  originalId: 'x-original-id',
  idempotencyKey: 'x-idempotency-key',
  replayId: 'x-replay-id',
  replayAttempt: 'x-replay-attempt',
  letterId: 'x-letter-id',
  /** The handler that failed. The other handlers of the channel have handled the event already. */
  handler: 'x-replay-handler',
  /** The trace of the earlier cycle, if the replay has its own trace. */
  originalTraceparent: 'x-original-traceparent',
  /** What a patch moved or copied in the payload, so that masks hide it at its new place too. */
  moved: 'x-replay-moved',
} as const

type Headers = Readonly<Record<string, string>>

const ALL: ReadonlySet<string> = new Set(Object.values(REPLAY_HEADERS))

/** Headers that only a replay sets. Other programs use the remaining ones for their own purposes. */
const MARKS: ReadonlySet<string> = new Set([
  REPLAY_HEADERS.replayed,
  REPLAY_HEADERS.replayId,
  REPLAY_HEADERS.replayAttempt,
  REPLAY_HEADERS.letterId,
  REPLAY_HEADERS.handler,
])

/** The content of replay headers. */
export interface EventReplay {
  /** 1 is the first replay of the event. */
  readonly attempt: number
  /** Undefined if SQL replayed the event before schema version 3 of Postgres. */
  readonly replayId: string | undefined
  readonly letterId: string | undefined
  /** The only handler of the replay; undefined if the replay was redirected to another channel. */
  readonly handler: string | undefined
}

/**
 * Returns the replay that an event claims to be, or undefined. An event is a replay only if `x-original-id` is its own
 * id, because handlers copy headers from one event to the next. All code reads replay headers with this function.
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
 * Returns a name for one send of one letter, or undefined without a replay id. A replay that was interrupted sends some
 * events again, and brokers find these duplicates by the name. The name contains the letter, because two handlers may
 * have failed on one event.
 */
export function sendingOf(event: LazaretEvent): string | undefined {
  const replay = replayOf(event)
  if (replay?.replayId === undefined) return undefined
  // The name contains the channel, because a handler may forward the event to another channel during the replay.
  return `${replay.replayId} ${replay.attempt} ${replay.letterId ?? replay.handler ?? ''} ${event.channel}`
}

/** Returns the headers of a replay. They replace those of an earlier replay, so that headers do not accumulate. */
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
 * Removes the replay headers of another event. Every broker publishes the result. A replay for one handler must also stay
 * in the channel of its letter: an event that a handler forwards to another channel with the same id is not a replay
 * there.
 */
export function withoutForeignReplay(event: LazaretEvent): LazaretEvent {
  const { headers } = event
  if (!hasMark(headers)) return event
  const replay = replayOf(event)
  return replay !== undefined && isOfItsChannel(event, replay)
    ? event
    : { ...event, headers: withoutReplayHeaders(headers) }
}

/** The same for a list. The list is returned as it is if no event has replay headers, which is the usual case. */
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

/** The headers without those of a replay. */
export function withoutReplayHeaders(headers: Headers): Headers {
  const names = Object.keys(headers)
  if (!names.some(name => ALL.has(name))) return headers
  return Object.fromEntries(names.filter(name => !ALL.has(name)).map(name => [name, headers[name]!]))
}

/**
 * The headers for the next replay. They lose the trace of the cycle before, because the link now points to the event's
 * own trace.
 */
export function withoutEarlierTrace(headers: Headers): Headers {
  if (headers[REPLAY_HEADERS.originalTraceparent] === undefined) return headers
  const { [REPLAY_HEADERS.originalTraceparent]: _, ...rest } = headers
  return rest
}

/**
 * Returns the letter of an event that a replay sent to another channel. Such a replay is for all handlers of that
 * channel. A replay in its own channel is for one handler.
 */
export function redirectedFrom(event: Pick<LazaretEvent, 'id' | 'headers'>): string | undefined {
  const replay = replayOf(event)
  return replay?.handler === undefined ? replay?.letterId : undefined
}
