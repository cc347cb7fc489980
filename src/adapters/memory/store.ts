import { OpenState } from '../../adapter-kit/open-state.ts'
import { type Clock, systemClock } from '../../ports/clock.ts'
import type { Store } from '../../ports/store.ts'
import { memoryBroker } from './broker/broker.ts'
import { memoryLedger } from './ledger/ledger.ts'
import { memoryDeadLetters } from './letters/dead-letters.ts'
import { MemoryGroups } from './letters/groups.ts'
import { MemoryAudit } from './operating/audit.ts'
import { MemoryCommands } from './operating/commands.ts'
import { MemoryFleet } from './operating/fleet.ts'
import { MemoryReplays } from './operating/replays.ts'
import { MemorySnapshots } from './operating/snapshots.ts'

/** Creates a complete store that ends with the process, for tests, examples and first steps. */
export function memoryStore({ clock = systemClock }: { readonly clock?: Clock | undefined } = {}): Store {
  const deadLetters = memoryDeadLetters()
  const broker = memoryBroker({ clock })
  const ledger = memoryLedger({ clock })
  const open = new OpenState('memory store')
  return {
    url: 'memory:',
    deadLetters,
    groups: new MemoryGroups(() => deadLetters.all(), clock),
    replays: new MemoryReplays(clock),
    audit: new MemoryAudit(),
    snapshots: new MemorySnapshots(open),
    broker,
    ledger,
    fleet: new MemoryFleet(open, clock),
    commands: new MemoryCommands(open, clock),
    async close() {
      open.close()
      await broker.close()
      await ledger.close()
      await deadLetters.close()
    },
  }
}
