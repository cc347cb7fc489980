import { writeFileSync } from 'node:fs'
import { migratePostgres, openPostgres } from '../src/adapters/postgres/index.ts'
import { openSqlite } from '../src/adapters/sqlite/index.ts'
import type { DeadLetter } from '../src/core/dead-letter/letter.ts'
import { findPostgres } from '../test/services/postgres.ts'
import { memoryMb } from './fleet/process-cost.ts'
import { BUILT, startLazaret } from './harness/lazaret-server.ts'
import { milliseconds, withTempFolder } from './harness/load.ts'
import { manyLetters, sendEach } from './harness/million.ts'
import { atMost, type Bar, type BenchResult, machine, type Row, row } from './harness/result.ts'
import { fillPostgres } from './letters/fill-postgres.ts'
import { withBenchDatabase } from './outbox/candidate.ts'

const LETTERS = Number(process.env['LAZARET_BENCH_LETTERS'] ?? 200_000)
const ROUNDS = 3
const EVERY_MS = 100
const DAY_MS = 86_400_000
/** The server while it plans, and after it. */
const MAX_RESIDENT_MB = 250

/** The cost of one plan, for the server. */
interface Planned {
  readonly seconds: number
  readonly peakMb: number
  readonly lines: number
}

/** Letters that a replay may send. */
function* waitingLetters(): Generator<DeadLetter> {
  for (const letter of manyLetters(LETTERS, EVERY_MS)) yield { ...letter, state: 'dead' }
}

/** Plans a replay of all letters, several times, through the API of a server in a process of its own. */
async function planOn(store: string): Promise<Planned[]> {
  const server = await startLazaret(store, BUILT)
  try {
    const planned: Planned[] = []
    for (let round = 0; round < ROUNDS; round++) planned.push(await planOnce(server))
    return planned
  } finally {
    await server.stop()
  }
}

async function planOnce({ url, pid }: { readonly url: string; readonly pid: number }): Promise<Planned> {
  // Linux forgets the highest memory so far.
  writeFileSync(`/proc/${pid}/clear_refs`, '5')
  let lines: string[] = []
  const ms = await milliseconds(async () => {
    const answer = await fetch(`${url}/api/v1/replays`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/x-ndjson', origin: url },
      body: JSON.stringify({ filter: {}, reason: 'bench', to: 'orders', maxAgeMs: 90 * DAY_MS }),
    })
    lines = (await answer.text()).trim().split('\n')
    const { done } = JSON.parse(lines.at(-1)!) as { done?: { count: number; findings: unknown } }
    if (done?.count !== LETTERS) throw new Error(`bench: the plan failed: ${lines.at(-1)}`)
  })
  return { seconds: ms / 1_000, peakMb: memoryMb(pid, 'status', 'VmHWM'), lines: lines.length }
}

function onSqlite(): Promise<Planned[]> {
  return withTempFolder(async dir => {
    const path = `${dir}/plan.db`
    const store = openSqlite({ path })
    await sendEach(waitingLetters(), 1_000, letter => store.deadLetters.send(letter))
    await store.close()
    return planOn(`sqlite:${path}`)
  })
}

async function onPostgres(): Promise<Planned[]> {
  const found = await findPostgres()
  if (!found.found) throw new Error(`bench: it needs Postgres: ${found.why}`)
  const server = await found.start()
  try {
    return await withBenchDatabase(server.url, async ({ pool, url }) => {
      await migratePostgres(pool)
      await fillPostgres(pool, waitingLetters())
      await openPostgres({ pool }).close()
      return planOn(url)
    })
  } finally {
    await server.close()
  }
}

/** Planning a replay of many letters: the time, and the memory of the server. LAZARET_BENCH_ONLY chooses one store. */
export async function run(): Promise<BenchResult> {
  const stores = { SQLite: onSqlite, Postgres: onPostgres }
  const only = process.env['LAZARET_BENCH_ONLY']
  const rows: Row[] = []
  const bars: Bar[] = []
  for (const [name, work] of Object.entries(stores)) {
    if (only !== undefined && only !== name.toLowerCase()) continue
    const planned = await work()
    const of = (what: keyof Planned) => planned.map(each => each[what])
    const memory = row(`${name}, most memory of the server`, 'MB', of('peakMb'))
    rows.push(
      row(`${name}, plan of ${LETTERS} letters`, 's', of('seconds')),
      memory,
      row(`${name}, lines of progress`, 'lines', of('lines')),
    )
    bars.push(atMost(`${memory.name}, MB`, memory.max, MAX_RESIDENT_MB))
  }
  return { bench: 'plan', machine: machine(), rows, bars }
}
