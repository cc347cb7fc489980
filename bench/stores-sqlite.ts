import { join } from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { DatabaseSync } from 'node:sqlite'
import { fileURLToPath } from 'node:url'
import { openSqlite, type SqliteStore } from '../src/adapters/sqlite/index.ts'
import { encodeLetter } from '../src/core/dead-letter/json.ts'
import type { DeadLetter } from '../src/core/dead-letter/letter.ts'
import { makeLetters } from './harness/letters.ts'
import {
  fillAndMeasure,
  IN_FLIGHT,
  LETTERS,
  PACED,
  PER_SECOND,
  pacedLatencies,
  perSecond,
  ROUNDS,
  sendAll,
  WARM_UP,
  withTempFolder,
} from './harness/load.ts'
import { COUNT, type MillionReport, RARE } from './harness/million.ts'
import { percentile } from './harness/percentile.ts'
import { atLeast, atMost, type Bar, median, type Row, row } from './harness/result.ts'

const FILL = fileURLToPath(new URL('./stores-sqlite-million.ts', import.meta.url))
const ASK = fileURLToPath(new URL('./stores-sqlite-questions.mjs', import.meta.url))

const OURS = `SQLite store, ${IN_FLIGHT} writers in flight`
const RAW = `raw: the same bytes into a table without an index, ${IN_FLIGHT} a transaction, full sync`
const ENCODED = `raw, but letters are made JSON first, on the same thread`
const LOOP = `SQLite store, ${IN_FLIGHT} writers in flight: delay of the event loop, p99`
const P99 = `SQLite store, ${PER_SECOND} writes/s, p99`

async function withStore<T>(work: (store: SqliteStore) => Promise<T>): Promise<T> {
  return await withTempFolder(async dir => {
    const store = openSqlite({ path: join(dir, 'bench.db') })
    await store.ready()
    const result = await work(store)
    await store.close()
    return result
  })
}

interface Load {
  readonly rate: number
  readonly loopDelayMs: number
}

/** Letters per second, and the delay of the event loop meanwhile. */
function throughput(warmUp: readonly DeadLetter[], letters: readonly DeadLetter[]): Promise<Load> {
  return withStore(async store => {
    await sendAll(warmUp, letter => store.deadLetters.send(letter))
    const delay = monitorEventLoopDelay({ resolution: 1 })
    delay.enable()
    const rate = await perSecond(letters.length, () =>
      sendAll(letters, letter => store.deadLetters.send(letter)),
    )
    delay.disable()
    return { rate, loopDelayMs: delay.percentile(99) / 1e6 }
  })
}

/** The speed of SQLite for a program that only inserts these bytes, on its own thread. */
function rawThroughput<T>(letters: readonly T[], toText: (letter: T) => string): Promise<number> {
  return withTempFolder(async dir => {
    const db = new DatabaseSync(join(dir, 'raw.db'))
    db.exec('pragma journal_mode = wal; pragma synchronous = full')
    db.exec('create table letters(seq integer primary key, body text not null)')
    const insert = db.prepare('insert into letters(body) values(?)')
    const rate = await perSecond(letters.length, () => {
      for (let start = 0; start < letters.length; start += IN_FLIGHT) {
        db.exec('begin immediate')
        for (const letter of letters.slice(start, start + IN_FLIGHT)) insert.run(toText(letter))
        db.exec('commit')
      }
    })
    db.close()
    return rate
  })
}

async function pacedP99(letters: readonly DeadLetter[]): Promise<number> {
  const latencies = await withStore(store =>
    pacedLatencies(PACED, index => store.deadLetters.send(letters[index]!)),
  )
  return percentile(latencies, 0.99)
}

/**
 * Dead letters in SQLite: the speed of durable writes, their effect on the event loop, and the cost of a million
 * letters.
 */
export async function sqliteStoreRows(): Promise<{ rows: Row[]; bars: Bar[] }> {
  const letters = makeLetters(LETTERS)
  const texts = letters.map(encodeLetter)
  const warmUp = makeLetters(WARM_UP)
  await throughput(warmUp, letters)
  const ours: Load[] = []
  const raw: number[] = []
  const encoded: number[] = []
  const p99: number[] = []
  for (let round = 0; round < ROUNDS; round++) {
    ours.push(await throughput(warmUp, letters))
    raw.push(await rawThroughput(texts, text => text))
    encoded.push(await rawThroughput(letters, encodeLetter))
    p99.push(await pacedP99(letters))
  }
  const { openMs, memoryMb, queries } = await fillAndMeasure<MillionReport>(
    [FILL],
    [ASK, String(COUNT), RARE],
  )
  const name = 'SQLite store, 1 000 000 letters'
  const rows = [
    row(
      OURS,
      'letters/s',
      ours.map(({ rate }) => rate),
    ),
    row(RAW, 'letters/s', raw),
    row(ENCODED, 'letters/s', encoded),
    row(
      LOOP,
      'ms',
      ours.map(({ loopDelayMs }) => loopDelayMs),
    ),
    row(P99, 'ms', p99),
    row(`${name}: open`, 'ms', [openMs]),
    row(`${name}: memory`, 'MB', [memoryMb]),
    ...queries.map(({ name: query, ms }) => row(`${name}: ${query}`, 'ms', ms)),
  ]
  const slowest = Math.max(...queries.map(({ name: query }) => median(rows, `${name}: ${query}`)))
  return {
    rows,
    bars: [
      atLeast('SQLite store ÷ raw limit', median(rows, OURS) / median(rows, RAW), 0.5),
      atMost('SQLite store, durable write p99, ms', median(rows, P99), 5),
      atMost('SQLite store, delay of the event loop p99, ms', median(rows, LOOP), 5),
      atMost('SQLite store, slowest answer of all with 1 000 000, ms', slowest, 100),
      atMost('SQLite store, open with 1 000 000, ms', openMs, 1_000),
      atMost('SQLite store, memory with 1 000 000, MB', memoryMb, 200),
    ],
  }
}
