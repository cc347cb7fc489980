import { OpenState } from '../src/adapter-kit/open-state.ts'
import { memoryAudit } from '../src/adapters/memory/operating/audit.ts'
import { memoryCommands } from '../src/adapters/memory/operating/commands.ts'
import { memoryFleet } from '../src/adapters/memory/operating/fleet.ts'
import { memoryReplays } from '../src/adapters/memory/operating/replays.ts'
import type { AuditLog } from '../src/ports/audit.ts'
import type { Clock } from '../src/ports/clock.ts'
import type { Commands } from '../src/ports/commands.ts'
import type { Fleet } from '../src/ports/fleet.ts'
import type { Replays } from '../src/ports/replays.ts'

/** The parts of the shared store that carry a fleet. */
export interface FleetStoreParts {
  readonly fleet: Fleet
  readonly commands: Commands
  readonly replays: Replays
  readonly audit: AuditLog
}

/** The server side of the shared store. It outlives all processes. */
export class FleetServerSide implements FleetStoreParts {
  readonly fleet: Fleet
  readonly commands: Commands
  readonly replays: Replays
  readonly audit = memoryAudit()
  /** The names of processes by the id under which they report themselves. */
  readonly processes = new Map<string, string>()
  /** Ids of commands are not from the seed, so the history has their numbers. */
  readonly #commandNames = new Map<string, string>()

  constructor(clock: Clock) {
    const open = new OpenState('world')
    this.fleet = memoryFleet(open, clock)
    this.commands = memoryCommands(open, clock)
    this.replays = memoryReplays(clock)
  }

  commandName(id: string): string {
    const name = this.#commandNames.get(id) ?? `c${this.#commandNames.size + 1}`
    this.#commandNames.set(id, name)
    return name
  }

  processName(id: string): string {
    return this.processes.get(id) ?? id
  }
}
