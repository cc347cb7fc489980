import type { LazaretEvent } from '../../../src/core/event/event.ts'
import type { Effects } from '../campaign/effects.ts'
import { countOutcomes, type EventCounts } from '../campaign/event-counts.ts'
import type { Kind } from './plan.ts'

/** What became of all events. Only those for which publishing resolved can be lost. */
export interface Findings extends EventCounts {
  /** Publishing never resolved for them. */
  readonly unpublished: number
  /** Still on the server. */
  readonly left: number
  /** Letters of one event beyond its first. */
  readonly doubleLetters: number
  /** Second runs of a handler. */
  readonly ranAgain: number
  /** Those of them whose first run was not in a process that was killed. */
  readonly unexplained: number
  /** Effects in the ledger's own transaction that happened twice. */
  readonly twice: number
}

interface Ends {
  readonly events: readonly LazaretEvent[]
  /** The events for which publishing resolved. */
  readonly accepted: ReadonlySet<string>
  /** The event id of every letter. */
  readonly letters: readonly string[]
  /** The processes that were killed. */
  readonly killed: ReadonlySet<number>
}

/** `written` has the event of each effect in the tables of the server, if handlers write them there. */
export function collectFindings(
  { events, accepted, letters, killed }: Ends,
  effects: Effects,
  written?: readonly string[],
): Omit<Findings, 'left'> {
  const canBeHandled = (event: LazaretEvent) => (event.payload as { kind: Kind }).kind !== 'permanent'
  const handled = written === undefined ? effects.ids() : new Set(written)
  const dead = new Set(letters)
  const firstRuns = effects.firstRuns()
  const isOver = ({ id }: LazaretEvent) => handled.has(id) || dead.has(id)
  return {
    ...countOutcomes(events, handled, dead, canBeHandled),
    lost: events.filter(event => accepted.has(event.id) && !isOver(event)).length,
    unpublished: events.filter(({ id }) => !accepted.has(id)).length,
    doubleLetters: letters.length - dead.size,
    ranAgain: firstRuns.length,
    unexplained: firstRuns.filter(process => !killed.has(process)).length,
    twice: written === undefined ? 0 : written.length - handled.size,
  }
}
