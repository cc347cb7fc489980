import type { MemoryBroker } from '../src/adapters/memory/broker/broker.ts'
import type { MemoryLedger } from '../src/adapters/memory/ledger/ledger.ts'
import type { MemoryDeadLetters } from '../src/adapters/memory/letters/dead-letters.ts'
import type { LazaretEvent } from '../src/core/event/event.ts'
import type { Chance } from './chance.ts'
import type { WorldClock } from './clock.ts'
import type { Plan } from './draw-plan.ts'
import type { Faults } from './faults.ts'
import type { FleetServerSide } from './fleet-server-side.ts'
import type { History } from './history.ts'
import type { EventKind } from './plan.ts'

/** The shared parts of a world: its clock, servers, faults and history. */
export interface World {
  /** The plan. `addEvent` adds events to it. */
  readonly plan: Plan
  readonly clock: WorldClock
  readonly history: History
  readonly faults: Faults
  readonly broker: MemoryBroker
  readonly store: MemoryDeadLetters
  readonly ledger: MemoryLedger
  /** The parts of the shared store for a fleet; undefined in worlds without one. */
  readonly fleet: FleetServerSide | undefined
  /** The random source of `Extras`. */
  readonly extraChance: Chance
  /** Adds an event that is not from the producer, when it is first published. */
  addEvent(event: LazaretEvent, eventKind: EventKind): void
  /** The next number for a delivery or a run. */
  nextNumber(): number
}
