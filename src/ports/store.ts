import { LazaretError } from '../core/failure/errors.ts'
import type { AuditLog } from './audit.ts'
import type { Broker } from './broker.ts'
import type { Commands } from './commands.ts'
import type { DeadLetterStore } from './dead-letters.ts'
import type { Fleet } from './fleet.ts'
import type { Groups } from './groups.ts'
import type { Ledger } from './ledger.ts'
import type { Replays } from './replays.ts'
import type { Snapshots } from './snapshots.ts'

/**
 * Everything that operators work with, behind one store URL. The port of each part states its contract. `close` closes all
 * parts; closing twice is safe.
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
  /** The processes that work on this store, and commands to them. Present where several processes can share the store. */
  readonly fleet?: Fleet | undefined
  readonly commands?: Commands | undefined
  close(): Promise<void>
}

/** A part of a store was used after `close`. */
export class StoreClosedError extends LazaretError {
  override readonly name = 'StoreClosedError'

  constructor(part: string) {
    super(
      `${part}: closed; use it before close(), or open a new one. A consumer or dispatcher closes its store unless it has leaveOpen: true`,
      {
        code: 'LAZARET_STORE_CLOSED',
        retryable: false,
      },
    )
  }
}

/** The plan of a replay was cancelled. Nothing was stored. */
export class PlanCancelledError extends LazaretError {
  override readonly name = 'PlanCancelledError'

  constructor() {
    super('the plan was cancelled; nothing was stored', { code: 'LAZARET_PLAN_CANCELLED', retryable: false })
  }
}

/** Two replays have the same id, or two items of a replay have the same position. Nothing was stored. */
export class ReplayExistsError extends LazaretError {
  override readonly name = 'ReplayExistsError'

  constructor(id: string, reason: 'exists' | 'incomplete' = 'exists') {
    const problem =
      reason === 'exists'
        ? 'already exists; use another id'
        : 'not all items can be stored; give each its own position, and plan the replay again'
    super(`replay ${id}: ${problem}`, { code: 'LAZARET_REPLAY_REFUSED', retryable: false })
  }
}
