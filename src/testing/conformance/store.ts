import { auditTests } from './store/audit.ts'
import { commandTests } from './store/commands.ts'
import { cursorTests } from './store/cursors.ts'
import { fleetTests } from './store/fleet.ts'
import { groupTests } from './store/groups.ts'
import { keyOrderTests } from './store/key-order.ts'
import { replayTests } from './store/replays.ts'
import { retentionTests } from './store/retention.ts'
import { snapshotTests } from './store/snapshots.ts'
import { onStore, type StoreConformance } from './store/suite.ts'

/** Every sentence of the contracts of groups, replays, the audit log, snapshots, the fleet and commands, as tests; a store's other parts have their own. */
export function storeConformance(suite: StoreConformance): void {
  groupTests(suite)
  replayTests(suite)
  auditTests(suite)
  cursorTests(suite)
  snapshotTests(suite)
  retentionTests(suite)
  keyOrderTests(suite)
  fleetTests(suite)
  commandTests(suite)
  onStore(suite)('F8: closing twice is safe', async store => {
    await store.close()
    await store.close()
  })
}
