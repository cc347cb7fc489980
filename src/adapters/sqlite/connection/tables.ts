import type { DatabaseSync } from 'node:sqlite'
import type { BrokerTables } from '../broker/broker-tables.ts'
import type { Owners } from '../broker/owners.ts'
import type { Letters } from '../letters/letter-table.ts'

/** What the calls of the writing thread work on, and the time of the one that is being made. */
export interface Tables {
  readonly db: DatabaseSync
  readonly letters: Letters
  readonly broker: BrokerTables
  readonly owners: Owners
  now: number
  /** The same moment by a clock that nobody sets: what waits for its time goes by this one. */
  steadyNow: number
  /** Since it was last asked. */
  othersWrote: boolean
}
