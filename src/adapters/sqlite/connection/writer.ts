import type { DatabaseSync } from 'node:sqlite'
import { BrokerTables } from '../broker/broker-tables.ts'
import { Owners } from '../broker/owners.ts'
import { Facets } from '../letters/facets.ts'
import { Letters } from '../letters/letter-table.ts'
import { Shelves } from '../letters/search-writer.ts'
import type { Answer, Trouble, WriteCalls } from './calls.ts'
import { Counters } from './counters.ts'
import { troubleOf } from './database.ts'
import type { Part } from './part.ts'
import type { Tables } from './tables.ts'
import { writeCalls } from './write-calls.ts'

export interface Request {
  readonly now: number
  readonly steadyNow: number
  readonly name: keyof WriteCalls
  readonly args: readonly unknown[]
}

/** Asked how many there are so far; undefined when there is nothing more for this transaction. */
type More = (soFar: number) => readonly Request[] | undefined

/**
 * Turns requests into transactions: everything that has arrived runs in one, one commit waits for the disk, and all are
 * answered together. When a request fails, the transaction is rolled back and its requests are made again one by one,
 * so that only the one at fault fails.
 */
export class Writer {
  readonly #tables: Tables
  readonly #parts: readonly Part[]
  readonly #calls: WriteCalls
  readonly #begin
  readonly #commit
  readonly #rollback
  readonly #dataVersion
  #seenVersion = -1

  constructor(db: DatabaseSync) {
    const counters = new Counters(db)
    const facets = new Facets(db)
    const shelves = new Shelves(db)
    const broker = new BrokerTables(db, counters)
    const letters = new Letters(db, counters, facets, shelves)
    this.#parts = [shelves, facets, broker, counters]
    this.#tables = { db, letters, broker, owners: new Owners(db), now: 0, steadyNow: 0, othersWrote: false }
    this.#calls = writeCalls(this.#tables)
    this.#begin = db.prepare('begin immediate')
    this.#commit = db.prepare('commit')
    this.#rollback = db.prepare('rollback')
    this.#dataVersion = db.prepare('pragma data_version')
  }

  /** Runs the requests, and those that `more` finds in the meantime. */
  run(first: readonly Request[], more: More): Answer {
    const requests = [...first]
    if (!this.#needsTransaction(requests)) return this.#answer(requests.map(request => this.#call(request)))
    try {
      return this.#transaction(requests, more)
    } catch (error) {
      // Only a request can be at fault for what happens while it runs; a disk or a lock is at fault for all of them.
      if (!(error instanceof RequestFailed) || requests.length === 1) return fail(requests, rootOf(error))
      return this.#oneByOne(requests)
    }
  }

  #transaction(requests: Request[], more: More): Answer {
    const { broker } = this.#tables
    this.#begin.run()
    broker.desks.remember()
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
      broker.desks.serve(this.#tables.steadyNow, (subscription, row) => {
        const { place, body, started, ended, history, flags } = row
        const letter = flags === 0 ? null : broker.letterOf(row, subscription.desk.handler)
        deliveries.push(subscription.id, subscription.owner, place, body, started, ended, history, letter)
      })
      for (const part of this.#parts) part.flush()
      // Whatever can fail comes before the commit: behind it the answer is yes.
      const answer = this.#answer(results, deliveries)
      this.#commit.run()
      return answer
    } catch (error) {
      this.#undo()
      throw error
    }
  }

  #oneByOne(requests: readonly Request[]): Answer {
    const results: unknown[] = []
    const failed: [number, Trouble][] = []
    const deliveries: unknown[] = []
    for (const [index, request] of requests.entries()) {
      try {
        const answer = this.#transaction([request], () => undefined)
        results.push(typeof answer.results === 'number' ? undefined : answer.results[0])
        deliveries.push(...(answer.deliveries ?? []))
      } catch (error) {
        results.push(undefined)
        failed.push([index, troubleOf(rootOf(error))])
      }
    }
    return { ...this.#answer(results, deliveries), failed }
  }

  #run(request: Request): unknown {
    try {
      return this.#call(request)
    } catch (error) {
      throw new RequestFailed(error)
    }
  }

  #call({ now, steadyNow, name, args }: Request): unknown {
    this.#tables.now = now
    this.#tables.steadyNow = steadyNow
    return Reflect.apply(this.#calls[name], this.#calls, args)
  }

  /** A look for news needs none, unless there is some. */
  #needsTransaction(requests: readonly Request[]): boolean {
    if (requests.some(({ name }) => name !== 'poll')) return true
    this.#noticeOthers()
    return this.#tables.broker.desks.hasWork(requests.at(-1)!.steadyNow)
  }

  #noticeOthers(): void {
    const { data_version: version } = this.#dataVersion.get() as { data_version: number }
    if (version === this.#seenVersion) return
    const isFirst = this.#seenVersion === -1
    this.#seenVersion = version
    if (isFirst) return
    for (const part of this.#parts) part.forget('others-wrote')
    this.#tables.broker.desks.lookAgain()
    this.#tables.othersWrote = true
  }

  #undo(): void {
    // SQLite has rolled back by itself after some errors.
    try {
      this.#rollback.run()
    } catch {}
    for (const part of this.#parts) part.forget('rolled-back')
    this.#tables.broker.desks.restore()
  }

  #answer(results: readonly unknown[], deliveries: readonly unknown[] = []): Answer {
    const saysNothing = results.every(result => result === undefined)
    return {
      results: saysNothing ? results.length : results,
      deliveries: deliveries.length === 0 ? undefined : deliveries,
      dueAt: this.#tables.broker.desks.dueAt,
    }
  }
}

class RequestFailed extends Error {
  constructor(cause: unknown) {
    super('a request failed', { cause })
  }
}

function rootOf(error: unknown): unknown {
  return error instanceof RequestFailed ? error.cause : error
}

function fail(requests: readonly Request[], error: unknown): Answer {
  const trouble = troubleOf(error)
  return { results: requests.length, failed: requests.map((_, index) => [index, trouble] as const) }
}
