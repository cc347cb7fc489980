// The cost of saving a letter on SQLite and Postgres in this version and in another one, in turn:
// `npx node bench/letter-saving.ts FOLDER`, with a checkout of the other version in FOLDER.
import { resolve } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Pool } from 'pg'
import type { DeadLetterStore } from '../src/ports/dead-letters.ts'
import { startPostgres } from './fleet/postgres.ts'
import { cpuSeconds } from './fleet/process-cost.ts'
import { milliseconds, withTempFolder } from './harness/load.ts'
import { manyLetters, sendEach } from './harness/million.ts'

const LETTERS = Number(process.env['LAZARET_BENCH_LETTERS'] ?? 20_000)
const ROUNDS = 3
const EVERY_MS = 1_000

/** What saving one letter took. */
interface Saving {
  readonly perSecond: number
  readonly cpuMicroseconds: number
}

async function save(
  letters: DeadLetterStore,
  inFlight: number,
  cpu: () => number,
  most = LETTERS,
): Promise<Saving> {
  const before = cpu()
  const ms = await milliseconds(() =>
    sendEach(manyLetters(most, EVERY_MS), inFlight, letter => letters.send(letter)),
  )
  return { perSecond: most / (ms / 1_000), cpuMicroseconds: ((cpu() - before) * 1e6) / most }
}

/** The store is in this process, with its threads. */
function onSqlite(folder: string): Promise<Saving> {
  return withTempFolder(async dir => {
    const { openSqlite } = await load(folder, 'sqlite')
    const store = openSqlite({ path: `${dir}/letters.db` })
    try {
      const own = () => {
        const { user, system } = process.cpuUsage()
        return (user + system) / 1e6
      }
      return await save(store.deadLetters, 100, own)
    } finally {
      await store.close()
    }
  })
}

/** Only the CPU time of the server counts. */
async function onPostgres(folder: string): Promise<Saving> {
  const { migratePostgres, openPostgres } = await load(folder, 'postgres')
  const server = await startPostgres(50)
  const pool = new Pool({ connectionString: server.url, max: 20 })
  try {
    await pool.query('drop schema lazaret cascade')
    await migratePostgres(pool)
    const store = openPostgres({ pool })
    return await save(store.deadLetters, 20, () => cpuSeconds(server.pid), LETTERS / 2)
  } finally {
    await pool.end()
    await server.close()
  }
}

function load(folder: string, adapter: string) {
  return import(pathToFileURL(resolve(folder, `src/adapters/${adapter}/index.ts`)).href)
}

const versions = { this: '.', other: process.argv[2] ?? '.' }
for (const [store, work] of Object.entries({ SQLite: onSqlite, Postgres: onPostgres }))
  for (let round = 0; round < ROUNDS; round++)
    for (const [version, folder] of Object.entries(versions)) {
      const { perSecond, cpuMicroseconds } = await work(folder)
      const figures = `${Math.round(perSecond)} letters/s, ${Math.round(cpuMicroseconds)} µs of CPU a letter`
      process.stdout.write(`${store}, ${version} version: ${figures}\n`)
    }
