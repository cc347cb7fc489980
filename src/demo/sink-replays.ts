import { REPLAY_HEADERS } from '../core/event/replay-headers.ts'
import type { DeadLetterStore } from '../ports/dead-letters.ts'
import type { ReplayTarget } from '../replay/runner.ts'
import type { Dispatcher } from '../runtime/dispatcher/dispatcher.ts'

/**
 * The way back of letters that a sink left: to that sink, past the door. Nobody waits for the outcome here, because the
 * letter waits for it: it stays `replaying` until the dispatcher has resolved it or brought it back, and a process that
 * dies in between leaves it to the next runner.
 */
export function sinkReplays(dispatcher: Dispatcher, letters: Pick<DeadLetterStore, 'get'>): ReplayTarget {
  return {
    async send(events) {
      for (const event of events) {
        const letter = await letters.get(event.headers[REPLAY_HEADERS.letterId] ?? '')
        if (letter !== undefined) dispatcher.resend({ ...letter, event }).catch(() => {})
      }
    },
  }
}
