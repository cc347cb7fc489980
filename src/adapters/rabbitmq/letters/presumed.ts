import { lastSendingOf } from '../../../core/dead-letter/change.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { DeadLetterStore } from '../../../ports/dead-letters.ts'
import type { CollectorSettings } from './options.ts'

const PAGE = 200
const BY = 'collector'

/**
 * Resolves letters that were sent back and have not come again: nobody tells us of success. `seenUpTo` is the time up to
 * which everything that came back has been saved. Answers how many of ours are still open.
 */
export async function presumeHandled(
  store: DeadLetterStore,
  { connection, handledAfterMs }: CollectorSettings,
  seenUpTo: number,
): Promise<number> {
  let open = 0
  let cursor: string | undefined
  do {
    const page = await store.list({ state: 'replaying', limit: PAGE, cursor })
    for (const letter of page.letters) {
      if (!isOurs(letter, connection.name)) continue
      const isOver = letter.updatedAt + handledAfterMs <= seenUpTo
      if (isOver)
        await store.change(letter.id, {
          from: 'replaying',
          to: 'resolved',
          at: connection.clock.now(),
          under: lastSendingOf(letter),
          by: BY,
        })
      else open++
    }
    cursor = page.cursor
  } while (cursor !== undefined)
  return open
}

function isOurs({ origin }: DeadLetter, broker: string): boolean {
  return origin.broker === broker && origin['collectedFrom'] !== undefined
}
