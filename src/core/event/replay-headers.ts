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
} as const
