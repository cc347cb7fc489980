import { Pool } from 'pg'
import { systemClock } from '../../src/ports/clock.ts'

/** The payload of every event: 256 bytes. */
export const PAYLOAD = { order: 4_711, note: 'x'.repeat(232) }
export const BATCH = 1_000

/** An empty database of its own for one round of one candidate. */
export interface BenchDatabase {
  readonly url: string
  readonly pool: Pool
}

/**
 * A library that keeps events in Postgres and runs a handler for each. `prepare` creates everything that it needs.
 * Rates are in events per second.
 */
export interface Candidate {
  prepare(database: BenchDatabase): Promise<void>
  /** One event after the other, each in its own transaction. */
  enqueueSingle?(database: BenchDatabase, count: number): Promise<number>
  /** One event after the other, each in a transaction with a row of the caller. */
  enqueueInTransaction?(database: BenchDatabase, count: number): Promise<number>
  enqueueBatches(database: BenchDatabase, count: number): Promise<number>
  /** Runs a handler that does nothing for every event. */
  process?(database: BenchDatabase, count: number): Promise<number>
  /** Every event fails at its first attempt, is retried, and succeeds. */
  failOnce?(database: BenchDatabase, count: number): Promise<number>
  /** Milliseconds from the commit of an event to the call of its handler, without other load. */
  latencies?(database: BenchDatabase, count: number): Promise<number[]>
}

/** A row of the caller, for events that are written with it. */
export const ORDERS =
  'create table orders (id bigint generated always as identity primary key, total integer)'
export const INSERT_ORDER = 'insert into orders (total) values (42)'

export async function withBenchDatabase<T>(
  server: string,
  work: (database: BenchDatabase) => Promise<T>,
): Promise<T> {
  const name = `bench_${process.hrtime.bigint()}`
  const url = new URL(server)
  url.pathname = `/${name}`
  const admin = new Pool({ connectionString: server, max: 1 })
  await admin.query(`create database ${name}`)
  const pool = new Pool({ connectionString: url.href, max: 10 })
  pool.on('error', () => {})
  try {
    await pool.query(ORDERS)
    return await work({ url: url.href, pool })
  } finally {
    await pool.end()
    await drop(admin, name)
    await admin.end()
  }
}

/** Closed connections exist a little longer. If the server ended them, they would raise unhandled errors. */
async function drop(admin: Pool, name: string): Promise<void> {
  const isDropped = await admin.query(`drop database ${name}`).then(
    () => true,
    () => false,
  )
  if (isDropped) return
  await new Promise<void>(resolve => systemClock.schedule(20, resolve))
  await drop(admin, name)
}

/** Brings the table into the state of a table in use: with statistics for the planner and without pending writes. */
export async function vacuumAnalyze({ pool }: BenchDatabase): Promise<void> {
  await pool.query('vacuum analyze')
}

/** Runs the work several times, one after the other. */
export async function repeat(count: number, work: () => Promise<unknown>): Promise<void> {
  for (let number = 0; number < count; number++) await work()
}

/** Commits each event without other load, at irregular times. */
export async function latenciesOf(
  count: number,
  commit: () => Promise<unknown>,
  handled: { next: () => Promise<void> },
): Promise<number[]> {
  const latencies: number[] = []
  for (let number = 0; number < count; number++) {
    await new Promise<void>(resolve => systemClock.schedule(30 + ((number * 37) % 60), resolve))
    const next = handled.next()
    await commit()
    const committedAt = process.hrtime.bigint()
    latencies.push(await next.then(() => Math.max(0, Number(process.hrtime.bigint() - committedAt) / 1e6)))
  }
  return latencies
}

/** Signals the next call of the handler. */
export class HandlerSignal {
  #notify: () => void = () => {}

  readonly notify = (): void => this.#notify()

  next(): Promise<void> {
    return new Promise(resolve => (this.#notify = resolve))
  }
}
