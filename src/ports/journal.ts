import type { LazaretEvent } from '../core/event/event.ts'

/**
 * Keeps critical events from the moment they are tracked until every sink has taken them or a dead letter holds them,
 * so that a process that dies in between forgets none.
 *
 * - `append` resolves when the event is durable. Appending an id that is there already changes nothing.
 * - `remove` forgets an event; an unknown id is ignored. It may be lazy: an entry that is found again after a crash is
 *   sent twice, and sinks are ready for that.
 * - `pending` answers with what was there when it was called, oldest first. A dispatcher asks once, when it is created.
 * - `close` flushes what was appended. Closing twice is safe.
 */
export interface Journal {
  append(event: LazaretEvent): Promise<void>
  remove(eventId: string): Promise<void>
  pending(): Promise<readonly LazaretEvent[]>
  close?(): Promise<void>
}
