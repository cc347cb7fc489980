import type { AuditLog } from './audit.ts'
import type { Broker } from './broker.ts'
import type { DeadLetterStore } from './dead-letters.ts'
import type { Groups } from './groups.ts'
import type { Ledger } from './ledger.ts'
import type { Replays } from './replays.ts'
import type { Snapshots } from './snapshots.ts'

/**
 * Everything an operator works with, in one place that a store URL names. What each part promises is said at its own
 * port. `close` closes all of them; closing twice is safe.
 */
export interface Store {
  /** The URL it was opened by, without credentials. */
  readonly url: string
  readonly deadLetters: DeadLetterStore
  readonly groups: Groups
  readonly replays: Replays
  readonly audit: AuditLog
  /** Where channels stood, over time. */
  readonly snapshots: Snapshots
  /** Present where the store is a broker too: replays go there. */
  readonly broker?: Broker | undefined
  readonly ledger?: Ledger | undefined
  close(): Promise<void>
}
