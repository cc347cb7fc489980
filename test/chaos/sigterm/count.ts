import type { LazaretEvent } from '../../../src/core/event/event.ts'
import { countOutcomes, type EventCounts } from '../campaign/event-counts.ts'
import type { BrokerPlace } from './broker-under-test.ts'
import type { HandlerRuns } from './handler-runs.ts'
import { ATTEMPTS, type Kind } from './plan.ts'

/** What became of all events. */
export interface Findings extends EventCounts {
  /** Still to be handled. */
  readonly left: number
  /** Letters of one event beyond its first. */
  readonly doubleLetters: number
  /** Second effects though the first run had ended within the grace time. */
  readonly effectsAgain: number
  /** Second effects of events whose first run had outlived the grace time. */
  readonly effectsAfterGrace: number
  /** Runs of one event at the same time, of which the first had not outlived the grace time. */
  readonly overlaps: number
  /** Events that fail at each attempt and did not have as many as they should. */
  readonly miscounted: number
  /** Runs that outlived the grace time. */
  readonly outlived: number
}

export async function collectFindings(
  place: BrokerPlace,
  events: readonly LazaretEvent[],
  runs: HandlerRuns,
): Promise<Findings> {
  const letters = await place.letters()
  const dead = new Set(letters)
  const counts = runs.counts()
  const handled = new Set(counts.filter(({ effects }) => effects > 0).map(({ event }) => event))
  const failures = new Map(counts.map(({ event, failures }) => [event, failures]))
  const sum = (of: (count: (typeof counts)[number]) => number) =>
    counts.reduce((total, count) => total + of(count), 0)
  const effectsAgain = sum(count => count.effectsAgain)
  return {
    ...countOutcomes(events, handled, dead, event => !isDoomed(kindOf(event))),
    left: await place.left(),
    doubleLetters: letters.length - dead.size,
    effectsAgain,
    effectsAfterGrace: sum(({ effects }) => Math.max(0, effects - 1)) - effectsAgain,
    overlaps: runs.overlaps,
    miscounted: events.filter(event => kindOf(event) === 'failing' && failures.get(event.id) !== ATTEMPTS)
      .length,
    outlived: runs.outlived,
  }
}

function kindOf({ payload }: LazaretEvent): Kind {
  return (payload as { kind: Kind }).kind
}

function isDoomed(kind: Kind): boolean {
  return kind === 'permanent' || kind === 'failing'
}
