import { OpenState } from '../../adapter-kit/open-state.ts'
import { type Clock, systemClock } from '../../ports/clock.ts'
import type { Store } from '../../ports/store.ts'
import { memoryBroker } from './broker/broker.ts'
import { memoryLedger } from './ledger/ledger.ts'
import { memoryDeadLetters } from './letters/dead-letters.ts'
import { memoryGroups } from './letters/groups.ts'
import { memoryAudit } from './operating/audit.ts'
import { memoryCommands } from './operating/commands.ts'
import { memoryFleet } from './operating/fleet.ts'
import { memoryReplays } from './operating/replays.ts'
import { memorySnapshots } from './operating/snapshots.ts'

/** Creates a complete store that ends with the process, for tests, examples and first steps. */
export function memoryStore({ clock = systemClock }: { readonly clock?: Clock | undefined } = {}): Store {
  const deadLetters = memoryDeadLetters()
  const broker = memoryBroker({ clock })
  const ledger = memoryLedger({ clock })
  const open = new OpenState('memory store')
  return {
    url: 'memory:',
    deadLetters,
    groups: memoryGroups(() => deadLetters.all(), clock),
    replays: memoryReplays(clock),
    audit: memoryAudit(),
    snapshots: memorySnapshots(open),
    broker,
    ledger,
    fleet: memoryFleet(open, clock),
    commands: memoryCommands(open, clock),
    async close() {
      open.close()
      await broker.close()
      await ledger.close()
      await deadLetters.close()
    },
  }
}
