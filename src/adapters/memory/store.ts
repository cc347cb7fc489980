import { Door } from '../../adapter-kit/door.ts'
import { type Clock, systemClock } from '../../ports/clock.ts'
import type { Store } from '../../ports/store.ts'
import { MemoryAudit } from './audit.ts'
import { memoryBroker } from './broker.ts'
import { memoryDeadLetters } from './dead-letters.ts'
import { MemoryGroups } from './groups.ts'
import { memoryLedger } from './ledger.ts'
import { MemoryReplays } from './replays.ts'
import { MemorySnapshots } from './snapshots.ts'

/** A whole store that lives as long as the process: for tests, examples and trying things out. */
export function memoryStore({ clock = systemClock }: { readonly clock?: Clock | undefined } = {}): Store {
  const deadLetters = memoryDeadLetters()
  const broker = memoryBroker({ clock })
  const ledger = memoryLedger({ clock })
  const door = new Door('memory store')
  return {
    url: 'memory:',
    deadLetters,
    groups: new MemoryGroups(() => deadLetters.all(), clock),
    replays: new MemoryReplays(clock),
    audit: new MemoryAudit(),
    snapshots: new MemorySnapshots(door),
    broker,
    ledger,
    async close() {
      door.close()
      await broker.close()
      await ledger.close()
      await deadLetters.close()
    },
  }
}
