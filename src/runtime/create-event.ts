import { type EventInput, createEvent as fillIn, type LazaretEvent } from '../core/event/event.ts'
import { createIdSource } from '../core/event/uuid.ts'
import { systemClock, systemRandom } from '../ports/clock.ts'

/** One for the process, so that the ids it gives sort in the order they were given. */
const newId = createIdSource(systemRandom)

/** An event to publish: id, idempotency key and time are filled in, limits of size and shape are checked. */
export function createEvent<P = unknown>(input: EventInput<P>): LazaretEvent<P> {
  return fillIn(input, { now: systemClock.now(), newId })
}
