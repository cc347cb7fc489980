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

const ALL: ReadonlySet<string> = new Set(Object.values(REPLAY_HEADERS))

/** Headers as they were before any replay. */
export function withoutReplayHeaders(
  headers: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  const names = Object.keys(headers)
  if (!names.some(name => ALL.has(name))) return headers
  return Object.fromEntries(names.filter(name => !ALL.has(name)).map(name => [name, headers[name]!]))
}

/** Headers of an event that is replayed once more: what it leads back to now is its own context, no more the one before. */
export function withoutEarlierTrace(
  headers: Readonly<Record<string, string>>,
): Readonly<Record<string, string>> {
  if (headers[REPLAY_HEADERS.originalTraceparent] === undefined) return headers
  const { [REPLAY_HEADERS.originalTraceparent]: _, ...rest } = headers
  return rest
}

/**
 * The letter of an event that a replay sent to another channel than its own. A replay that stays in its channel is for one
 * handler; one that does not is for all of them.
 */
export function redirectedFrom(headers: Readonly<Record<string, string>>): string | undefined {
  return headers[REPLAY_HEADERS.handler] === undefined ? headers[REPLAY_HEADERS.letterId] : undefined
}
