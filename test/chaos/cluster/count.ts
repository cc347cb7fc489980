import type { LazaretEvent } from '../../../src/core/event/event.ts'
import type { Effects } from '../campaign/effects.ts'
import { countOutcomes, type EventCounts } from '../campaign/event-counts.ts'
import type { Kind } from './plan.ts'

/** What became of all events. */
export interface Findings extends EventCounts {
  /** Still on the cluster. */
  readonly left: number
  /** Effects that came before that of an earlier event of their key. */
  readonly outOfOrder: number
  /** Effects that would have happened a second time, and that the effect's own transaction refused. */
  readonly ranAgain: number
  /** Those of them whose first run was not in a process that was killed. */
  readonly unexplained: number
}

/** `letters` has the event id of every letter, and `killed` the processes that were killed. */
export function collectFindings(
  events: readonly LazaretEvent[],
  effects: Effects,
  letters: readonly string[],
  killed: ReadonlySet<number>,
): Omit<Findings, 'left'> {
  const canBeHandled = (event: LazaretEvent) => (event.payload as { kind: Kind }).kind !== 'permanent'
  const firstRuns = effects.firstRuns()
  return {
    ...countOutcomes(events, effects.ids(), new Set(letters), canBeHandled),
    outOfOrder: countOutOfOrder(events, [...effects.ids()]),
    ranAgain: firstRuns.length,
    unexplained: firstRuns.filter(process => !killed.has(process)).length,
  }
}

/** `done` has the ids in the order of their effects. */
function countOutOfOrder(events: readonly LazaretEvent[], done: readonly string[]): number {
  const numbers = new Map(events.map(({ id, key }, number) => [id, { key, number }]))
  const latest = new Map<string | undefined, number>()
  let count = 0
  for (const id of done) {
    const { key, number } = numbers.get(id)!
    if (number < (latest.get(key) ?? -1)) count++
    else latest.set(key, number)
  }
  return count
}
