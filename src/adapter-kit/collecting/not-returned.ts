import { lastSendingOf } from '../../core/dead-letter/change.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import type { Clock } from '../../ports/clock.ts'
import type { DeadLetterStore } from '../../ports/dead-letters.ts'
import { letterPages } from '../query/letter-pages.ts'

const BY = 'collector'

interface NotReturned {
  /** The name of the collector. */
  readonly broker: string
  /** The time after which a sent letter counts as handled. */
  readonly handledAfterMs: number
  /** The time up to which all returned messages are saved. */
  readonly seenUpTo: number
  readonly clock: Clock
}

/** Resolves letters that were sent back and did not return, because nobody reports success. */
export async function resolveNotReturned(
  store: DeadLetterStore,
  { broker, handledAfterMs, seenUpTo, clock }: NotReturned,
): Promise<void> {
  for await (const page of letterPages(store, { state: 'replaying' }))
    for (const letter of page) {
      const isOver = letter.updatedAt + handledAfterMs <= seenUpTo
      if (isOver && isOurs(letter, broker))
        await store.change(letter.id, {
          from: 'replaying',
          to: 'resolved',
          at: clock.now(),
          onlyIfSentBy: lastSendingOf(letter),
          by: BY,
        })
    }
}

function isOurs({ origin }: DeadLetter, broker: string): boolean {
  return origin.broker === broker && origin['collectedFrom'] !== undefined
}
