import { brokerReader } from '../broker/broker-tables.ts'
import { JournalTable } from '../journal/journal-table.ts'
import { groupReader } from '../letters/group-table.ts'
import { LetterReader } from '../letters/letter-reader.ts'
import { AuditTable } from '../operating/audit-table.ts'
import { CommandTable } from '../operating/command-table.ts'
import { FleetTable } from '../operating/fleet-table.ts'
import { ReplayTables } from '../operating/replay-tables.ts'
import { SnapshotTable } from '../operating/snapshot-table.ts'
import { type Database, failureOf } from './database.ts'
import { type Answer, type CallBatch, type Failure, makeCall } from './messages.ts'

/** The methods of the reading thread. It sees committed data only, and does not wait for writers. */
export type ReadParts = ReturnType<typeof createParts>

function createParts(db: Database, context: { readonly now: number }) {
  return {
    letters: new LetterReader(db),
    groups: groupReader(db, context),
    broker: brokerReader(db),
    journal: new JournalTable(db),
    replays: new ReplayTables(db, context),
    audit: new AuditTable(db),
    snapshots: new SnapshotTable(db),
    fleet: new FleetTable(db, context),
    commands: new CommandTable(db, context),
  }
}

/** Answers questions one after the other, each from one state of the database. */
export class DatabaseReader {
  readonly #db: Database
  readonly #context = { now: 0 }
  readonly #parts: ReadParts

  constructor(db: Database) {
    this.#db = db
    this.#parts = createParts(db, this.#context)
  }

  run({ now, steadyNow, calls }: CallBatch): Answer {
    this.#context.now = now
    const results: unknown[] = []
    const failed: [number, Failure][] = []
    for (const [index, call] of calls.entries()) {
      try {
        this.#db.files.check(steadyNow)
        this.#db.run`begin`
        try {
          results[index] = makeCall(this.#parts, call)
        } finally {
          this.#db.run`commit`
        }
      } catch (error) {
        results[index] = undefined
        failed.push([index, failureOf(error)])
      }
    }
    return { results, failed: failed.length === 0 ? undefined : failed }
  }
}
