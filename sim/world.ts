import type { MemoryBroker } from '../src/adapters/memory/broker/broker.ts'
import type { MemoryLedger } from '../src/adapters/memory/ledger/ledger.ts'
import type { MemoryDeadLetters } from '../src/adapters/memory/letters/dead-letters.ts'
import type { LazaretEvent } from '../src/core/event/event.ts'
import type { Chance } from './chance.ts'
import type { WorldClock } from './clock.ts'
import type { Plan } from './draw-plan.ts'
import type { Faults } from './faults.ts'
import type { History } from './history.ts'
import type { EventKind } from './plan.ts'

/** What all processes of a world have in common: its time, its servers, its faults, and the journal of it all. */
export interface World {
  /** Its events grow: `addEvent`. */
  readonly plan: Plan
  readonly clock: WorldClock
  readonly history: History
  readonly faults: Faults
  readonly broker: MemoryBroker
  readonly store: MemoryDeadLetters
  readonly ledger: MemoryLedger
  /** For what only some worlds have; see `Extras`. */
  readonly extraChance: Chance
  /** An event that somebody other than the producer sends for the first time. */
  addEvent(event: LazaretEvent, eventKind: EventKind): void
  /** Numbers for handings-over and runs. */
  nextNumber(): number
}
