import type { DeadLetter, Origin } from '../core/dead-letter/letter.ts'
import type { LazaretEvent } from '../core/event/event.ts'
import type { QueueDepth } from './broker.ts'
import type { DeadLetterStore } from './dead-letters.ts'

/**
 * Brings the dead letters of other programs into a store, and returns them to those programs on a replay.
 *
 * - `start` begins to collect. The collector survives lost connections and an unavailable store. It acknowledges a message
 *   only after the store has its letter, so an interrupted message is delivered again. The second delivery becomes the
 *   same letter, because a redelivery changes nothing of the identity of a letter. The origin of every letter has the
 *   name of the collector as `broker`, and the queue as `collectedFrom`.
 * - `stop` ends collecting after the letters in progress are saved; `start` begins again. `send` keeps working. Only one
 *   of several servers collects, because a second one would count the messages that the first one holds as handled.
 * - `send` publishes events of such letters to their origin, and resolves when that is durable. Events with the header
 *   `x-replay-handler` return to their origin; events without it are redirected to the queue that their channel names.
 *   When such an event fails again, its headers make it the next cycle of its letter.
 * - `routeOf` (optional) returns the route of a letter with such an origin. Without it every such letter has a durable
 *   route.
 * - Another program does not report success. So the collector resolves a sent letter that did not fail again for long
 *   enough. A later failure opens the letter again.
 * - `depths` counts the messages that wait to become letters, for the queues that exist. It rejects when the server does
 *   not respond.
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
 * The route by which this process can send a letter again.
 *
 * - `durable`: the receiver stores the event, so a later runner does not need to send it again.
 * - `in-process`: only this process holds the event until its outcome is known. When the process ends, the next runner
 *   sends the event again.
 * - `fleet`: a living process of the fleet sends the event.
 * - `none`: this process cannot send the letter; `why` names the reason and the remedy.
 */
export type ReplayRoute =
  | { readonly kind: 'durable' | 'in-process' | 'fleet'; readonly via: string }
  | { readonly kind: 'none'; readonly reason: string }
