import { Pool } from 'pg'
import { systemClock } from '../../src/ports/clock.ts'

/** What every event of the benchmark carries: 256 bytes. */
export const PAYLOAD = { order: 4_711, note: 'x'.repeat(232) }
export const BATCH = 1_000

/** An empty database of its own for one round of one candidate. */
export interface BenchDatabase {
  readonly url: string
  readonly pool: Pool
}

/**
 * One that keeps events in Postgres and hands them to a handler. Everything it needs is made by `prepare`; rates are of
 * events a second.
 */
export interface Candidate {
  prepare(database: BenchDatabase): Promise<void>
  /** One event after the other, each committed by itself. */
  enqueueSingle?(database: BenchDatabase, count: number): Promise<number>
  /** One event after the other, each in the transaction of a row of the caller's. */
  enqueueInTransaction?(database: BenchDatabase, count: number): Promise<number>
  enqueueBatches(database: BenchDatabase, count: number): Promise<number>
  /** One call of a handler that does nothing for each event that is there. */
  process?(database: BenchDatabase, count: number): Promise<number>
  /** Every event fails at its first attempt, is put back, and succeeds at its second. */
  failOnce?(database: BenchDatabase, count: number): Promise<number>
  /** Milliseconds from the commit of an event to the call of its handler, while nothing else goes on. */
  latencies?(database: BenchDatabase, count: number): Promise<number[]>
}

/** A row of the caller's own, for events that are written with it. */
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

/** Connections that were ended are there a little longer; ended by the server they would be errors that nobody awaits. */
async function drop(admin: Pool, name: string): Promise<void> {
  const isDropped = await admin.query(`drop database ${name}`).then(
    () => true,
    () => false,
  )
  if (isDropped) return
  await new Promise<void>(resolve => systemClock.schedule(20, resolve))
  await drop(admin, name)
}

/** As a table is that has been there for a while: the planner knows it, and nothing of the filling is left to write. */
export async function vacuumAnalyze({ pool }: BenchDatabase): Promise<void> {
  await pool.query('vacuum analyze')
}

/** One after the other. */
export async function repeat(count: number, work: () => Promise<unknown>): Promise<void> {
  for (let number = 0; number < count; number++) await work()
}

/** Does each of them while nothing else goes on, at moments that follow no pattern. */
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

/** Tells when the handler is called next. */
export class HandlerSignal {
  #notify: () => void = () => {}

  readonly notify = (): void => this.#notify()

  next(): Promise<void> {
    return new Promise(resolve => (this.#notify = resolve))
  }
}
