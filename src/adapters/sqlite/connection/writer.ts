import type { LetterVersion, SeenLetter } from '../../../ports/dead-letters.ts'
import { BrokerTables } from '../broker/broker-tables.ts'
import { JournalTable } from '../journal/journal-table.ts'
import { LedgerTable } from '../ledger/ledger-table.ts'
import { Facets } from '../letters/facets.ts'
import { GroupTable } from '../letters/group-table.ts'
import { type LetterRow, LetterTable, type SendAnswer } from '../letters/letter-table.ts'
import { SearchWriter } from '../letters/search-writer.ts'
import { AuditTable } from '../operating/audit-table.ts'
import { CommandTable } from '../operating/command-table.ts'
import { FleetTable } from '../operating/fleet-table.ts'
import { ReplayTables } from '../operating/replay-tables.ts'
import { SnapshotTable } from '../operating/snapshot-table.ts'
import { Counters } from './counters.ts'
import { type Database, failureOf } from './database.ts'
import { type Answer, type Call, type Failure, makeCall } from './messages.ts'
import type { Cached, WriterContext } from './writer-context.ts'

export interface Request {
  readonly now: number
  readonly steadyNow: number
  readonly call: Call
}

/** Asked how many there are so far; undefined when there is nothing more for this transaction. */
type More = (soFar: number) => readonly Request[] | undefined

/** The methods of the writing thread. Each call runs inside a transaction and changes nothing if it refuses. */
export type WriteParts = ReturnType<typeof createParts>['calls']

function createParts(db: Database, context: WriterContext) {
  const counters = new Counters(db)
  const groups = new GroupTable(db)
  const facets = new Facets(db, groups)
  const search = new SearchWriter(db)
  const letters = new LetterTable(db, counters, facets, search)
  const broker = new BrokerTables(db, context, counters, letters)
  const deleteLetter = (id: string, seen: LetterVersion | undefined): boolean => {
    if (!letters.delete(id, seen)) return false
    broker.letterClosed(id, true)
    return true
  }
  return {
    cached: [search, facets, broker, counters] as readonly Cached[],
    calls: {
      letters: {
        send(row: LetterRow, revision: number | null, capacity: number): SendAnswer {
          const answer = letters.send(row, revision, capacity)
          if (answer === undefined && revision !== null && isClosed(row[1]))
            broker.letterClosed(row[0], false)
          return answer
        },
        delete: deleteLetter,
        deleteMany(seen: readonly SeenLetter[]): readonly string[] {
          return seen.filter(each => deleteLetter(each.id, each)).map(({ id }) => id)
        },
      },
      groups,
      broker,
      subscriptions: broker.subscriptions,
      ledger: new LedgerTable(db, context),
      journal: new JournalTable(db),
      replays: new ReplayTables(db, context),
      audit: new AuditTable(db),
      snapshots: new SnapshotTable(db),
      fleet: new FleetTable(db, context),
      commands: new CommandTable(db, context),
    },
  }
}

/** Whether a letter of this facet has been dealt with. */
function isClosed(facet: string): boolean {
  const state = (JSON.parse(facet) as string[])[5]
  return state === 'discarded' || state === 'resolved'
}

/**
 * Turns requests into transactions: everything that has arrived runs in one, one commit waits for the disk, and all are
 * answered together. When a request fails, the transaction is rolled back and its requests are made again one by one,
 * so that only the one at fault fails.
 */
export class DatabaseWriter {
  readonly #db: Database
  readonly #context: WriterContext = { now: 0, steadyNow: 0, othersWrote: false }
  readonly #cached: readonly Cached[]
  readonly #parts: WriteParts
  #seenVersion = -1
  #isLogEmptied = false

  constructor(db: Database) {
    this.#db = db
    const { cached, calls } = createParts(db, this.#context)
    this.#cached = cached
    this.#parts = calls
  }

  /** Runs the requests, and those that `more` finds in the meantime. */
  run(first: readonly Request[], more: More): Answer {
    const requests = [...first]
    try {
      if (this.#needsTransaction(requests)) return this.#transaction(requests, more)
      this.#db.files.check(requests.at(-1)!.steadyNow)
      return this.#answer(requests.map(request => this.#call(request)))
    } catch (error) {
      // Only a request itself causes a RequestError. A failing disk or lock concerns all requests.
      if (error instanceof RequestError && requests.length > 1) return this.#oneByOne(requests)
      return this.#refuse(requests, failureOf(causeOf(error)))
    }
  }

  #transaction(requests: Request[], more: More): Answer {
    const { broker } = this.#parts
    this.#db.run`begin immediate`
    broker.subscriptions.remember()
    try {
      this.#noticeOthers()
      const results: unknown[] = []
      for (let done = 0; ; ) {
        for (; done < requests.length; done++) results.push(this.#run(requests[done]!))
        const added = more(requests.length)
        if (added === undefined) break
        requests.push(...added)
      }
      const deliveries: unknown[] = []
      broker.subscriptions.serve(this.#context.steadyNow, ({ id, owner, handler }, row) => {
        const { place, body, started, ended, history, flags } = row
        const letter = flags === 0 ? null : broker.letterOf(row, handler.id)
        deliveries.push(id, owner, place, body, started, ended, history, letter)
      })
      for (const part of this.#cached) part.flush?.()
      // All steps that can fail come before the commit. After the commit the answer is a success.
      const answer = this.#answer(results, deliveries)
      this.#db.files.check(this.#context.steadyNow)
      this.#db.run`commit`
      this.#isLogEmptied = false
      return answer
    } catch (error) {
      this.#undo()
      throw error
    }
  }

  /** Whether a subscription takes deliveries is known in memory only, so that change is made anyway. */
  #refuse(requests: readonly Request[], failure: Failure): Answer {
    if (failure.kind === 'gone') this.#emptyLog()
    const failed: [number, Failure][] = []
    for (const [index, request] of requests.entries()) {
      if (request.call[0] === 'subscriptions') this.#call(request)
      else failed.push([index, failure])
    }
    return { results: requests.length, failed }
  }

  /**
   * Moves what was committed from the write-ahead log to the database, wherever that is now. It does so once, and not if another
   * process has written since: that one may have opened the file that is there now, with this log.
   */
  #emptyLog(): void {
    if (this.#isLogEmptied) return
    this.#isLogEmptied = true
    try {
      const isQuiet = this.#dataVersion() === this.#seenVersion
      if (isQuiet && this.#db.files.leftItsLog) this.#db.get`pragma wal_checkpoint(truncate)`
    } catch {
      // Nothing is lost: the log stays as it is.
    }
  }

  #oneByOne(requests: readonly Request[]): Answer {
    const results: unknown[] = []
    const failed: [number, Failure][] = []
    const deliveries: unknown[] = []
    for (const [index, request] of requests.entries()) {
      try {
        const answer = this.#transaction([request], () => undefined)
        results.push(typeof answer.results === 'number' ? undefined : answer.results[0])
        deliveries.push(...(answer.deliveries ?? []))
      } catch (error) {
        results.push(undefined)
        failed.push([index, failureOf(causeOf(error))])
      }
    }
    return { ...this.#answer(results, deliveries), failed }
  }

  #run(request: Request): unknown {
    try {
      return this.#call(request)
    } catch (error) {
      throw new RequestError(error)
    }
  }

  #call({ now, steadyNow, call }: Request): unknown {
    this.#context.now = now
    this.#context.steadyNow = steadyNow
    return makeCall(this.#parts, call)
  }

  /** A poll needs a transaction only if there is something new. */
  #needsTransaction(requests: readonly Request[]): boolean {
    if (requests.some(({ call }) => call[1] !== 'poll')) return true
    this.#noticeOthers()
    return this.#parts.broker.subscriptions.hasWork(requests.at(-1)!.steadyNow)
  }

  #noticeOthers(): void {
    const version = this.#dataVersion()
    if (version === this.#seenVersion) return
    const isFirst = this.#seenVersion === -1
    this.#seenVersion = version
    if (isFirst) return
    for (const part of this.#cached) part.forget('others-wrote')
    this.#parts.broker.subscriptions.checkAgain()
    this.#context.othersWrote = true
  }

  #dataVersion(): number {
    return this.#db.get<{ data_version: number }>`pragma data_version`!.data_version
  }

  #undo(): void {
    // SQLite has rolled back by itself after some errors.
    try {
      this.#db.run`rollback`
    } catch {}
    for (const part of this.#cached) part.forget('rolled-back')
    this.#parts.broker.subscriptions.restore()
  }

  #answer(results: readonly unknown[], deliveries: readonly unknown[] = []): Answer {
    const saysNothing = results.every(result => result === undefined)
    return {
      results: saysNothing ? results.length : results,
      deliveries: deliveries.length === 0 ? undefined : deliveries,
      dueAt: this.#parts.broker.subscriptions.dueAt,
    }
  }
}

class RequestError extends Error {
  constructor(cause: unknown) {
    super('a request failed', { cause })
  }
}

function causeOf(error: unknown): unknown {
  return error instanceof RequestError ? error.cause : error
}
