import type { RedisConnection } from '../connection/connection.ts'
import { run } from '../connection/script.ts'
import type { HandlerKeys } from './keys.ts'
import { COUNT_RANGE, DEPTH } from './scripts/stream.ts'

/**
 * The number of events that a handler had not finished when the count began: unread, open, waiting for a retry. A long range
 * is counted in portions, so that the server serves others in between. An event that is published meanwhile does not count,
 * so the count ends. One that is finished and removed meanwhile does not count either.
 */
export async function countUnfinished(
  connection: RedisConnection,
  { events, own, waiting, handler }: HandlerKeys,
): Promise<number> {
  const isRepeatable = { idempotent: true }
  const { count, unread } = await run(connection, DEPTH, [events, own, waiting], [handler], isRepeatable)
  let total = count
  for (let after = unread?.after; after !== undefined; ) {
    const portion = await run(connection, COUNT_RANGE, [events], [after, unread!.upTo], isRepeatable)
    total += portion.count
    after = portion.after
  }
  return total
}
