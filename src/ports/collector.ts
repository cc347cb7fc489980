import type { DeadLetter, Origin } from '../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../core/event/event.ts'
import type { QueueDepth } from './broker.ts'
import type { DeadLetterStore } from './dead-letters.ts'

/**
 * Brings the dead letters of other programs into a store, and returns them to those programs on a replay.
 *
 * - `start` begins, and goes on by itself over lost connections and a store that is down. A message is acknowledged
 *   only after the store has its letter, so that an interrupted message is delivered again; and it becomes the same
 *   letter, because nothing in a letter's identity differs in a second delivery. Every letter's origin has the
 *   collector's name as its `broker`, and as `collectedFrom` where it was found.
 * - `stop` ends collecting, after what is being saved; `start` begins again. Sending continues. Of several
 *   servers one collects: two that watched the same queues would take what the other is about to save for handled.
 * - `send` publishes events of such letters to their origin, and resolves when that is durable. Events with the header
 *   `x-replay-handler` return to their origin; events without it are redirected to the queue that their channel names.
 *   When such an event fails again, its headers make it the next cycle of its letter.
 * - `routeOf`, where there is one, tells how a letter with such an origin would be sent, or why it cannot be. Without it
 *   every such letter can be sent, and its receiver stores it.
 * - Who handles an event elsewhere tells nobody. A letter that was sent and did not come back for long enough is resolved
 *   by the collector; if it comes back later, it reopens.
 * - `depths` counts the messages that wait to become letters, for the queues that exist. It rejects when the server does not
 *   respond.
 * - `close` ends everything after the letters in progress are saved. Closing twice is safe.
 */
export interface Collector {
  readonly name: string
  start(into: DeadLetterStore): void
  stop(): Promise<void>
  send(events: readonly LazaretEvent[], origin: Origin): Promise<void>
  routeOf?(letter: Pick<DeadLetter, 'handler' | 'origin'>, to: string | undefined): ReplayRoute
  depths(): Promise<readonly QueueDepth[]>
  close(): Promise<void>
}

/**
 * The way on which this process can send a letter again.
 *
 * - `durable`: the target stores the event, so that a runner that ends leaves nothing to repeat.
 * - `in-process`: this process alone has the event until its outcome is known. A runner in another process sends it again.
 * - `none`: nothing here can send it; `why` says what would.
 */
export type ReplayRoute =
  | { readonly kind: 'durable' | 'in-process'; readonly via: string }
  | { readonly kind: 'none'; readonly why: string }
