import type { LazaretEvent } from '../../../src/core/event/event.ts'

/** What became of all events, handled by some and given up on by others. */
export interface EventCounts {
  readonly handled: number
  readonly dead: number
  /** Neither handled nor dead. */
  readonly lost: number
  /** Handled, and dead as well. */
  readonly both: number
  /** Dead, though they could have been handled. */
  readonly wronged: number
  /** Handled, though nobody could. */
  readonly impossible: number
}

export function countOutcomes(
  events: readonly LazaretEvent[],
  handled: ReadonlySet<string>,
  dead: ReadonlySet<string>,
  canBeHandled: (event: LazaretEvent) => boolean,
): EventCounts {
  const count = (isSo: (event: LazaretEvent) => boolean) => events.filter(isSo).length
  return {
    handled: handled.size,
    dead: dead.size,
    lost: count(({ id }) => !handled.has(id) && !dead.has(id)),
    both: count(({ id }) => handled.has(id) && dead.has(id)),
    wronged: count(event => dead.has(event.id) && canBeHandled(event)),
    impossible: count(event => handled.has(event.id) && !canBeHandled(event)),
  }
}
