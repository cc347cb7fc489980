import { OpenState } from '../../adapter-kit/open-state.ts'
import { isHeld } from '../../core/dead-letter/state.ts'
import { type Clock, systemClock } from '../../ports/clock.ts'
import type { Store } from '../../ports/store.ts'
import { memoryBroker } from './broker/broker.ts'
import { memoryLedger } from './ledger/ledger.ts'
import { memoryDeadLettersOf } from './letters/dead-letters.ts'
import { memoryGroups } from './letters/groups.ts'
import { memoryAudit } from './operating/audit.ts'
import { memoryCommands } from './operating/commands.ts'
import { memoryFleet } from './operating/fleet.ts'
import { memoryReplays } from './operating/replays.ts'
import { memorySnapshots } from './operating/snapshots.ts'

/** Creates a complete store that ends with the process, for tests, examples and first steps. */
export function memoryStore({ clock = systemClock }: { readonly clock?: Clock | undefined } = {}): Store {
  const broker = memoryBroker({ clock })
  const deadLetters = memoryDeadLettersOf(({ channel, handler, event, state }) => {
    // The broker does its work before its first await. It is closed before the letters, which then refuse calls as well.
    if (isHeld(state)) broker.unblockKey(channel, event.id, handler).catch(() => {})
  })
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
