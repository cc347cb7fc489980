import { Client } from 'pg'
import { findPostgres } from '../test/services/postgres.ts'
import { atMost, type BenchResult, machine, row } from './harness/result.ts'
import { withBenchDatabase } from './outbox/candidate.ts'
import { prepare } from './outbox/growth.ts'
import { type Sample, soak } from './outbox/soak.ts'

/** For a quick look: LAZARET_BENCH_SECONDS=30 npm run bench soak. */
const SECONDS = Number(process.env['LAZARET_BENCH_SECONDS'] ?? 300)
const PER_SECOND = 1_000
/** An hour in five minutes: jobs that a server runs every minute run every five seconds. */
const NAP = '5s'
/** The tables grow until the first vacuum, as expected. */
const SETTLED_AFTER = 0.2

const mostOf = (samples: readonly Sample[], of: keyof Sample) => Math.max(...samples.map(each => each[of]))

async function hurryVacuum(server: string): Promise<void> {
  const admin = new Client({ connectionString: server })
  await admin.connect()
  await admin.query(`alter system set autovacuum_naptime = '${NAP}'`)
  await admin.query('select pg_reload_conf()')
  await admin.end()
}

export async function run(): Promise<BenchResult> {
  const found = await findPostgres()
  if (!found.found) throw new Error(`bench: ${found.why}`)
  const server = await found.start()
  try {
    await hurryVacuum(server.url)
    const { samples, left } = await withBenchDatabase(server.url, async database => {
      await prepare(database)
      return soak(database, { seconds: SECONDS, perSecond: PER_SECOND })
    })
    if (left > 0) throw new Error(`bench: ${left} events are left`)
    const settled = samples.slice(Math.floor(samples.length * SETTLED_AFTER))
    const half = Math.floor(settled.length / 2)
    const [first, second] = [settled.slice(0, half), settled.slice(half)]
    const dead = samples.map(each => each.dead)
    const megabytes = samples.map(({ bytes }) => bytes / 1e6)
    return {
      bench: 'soak',
      machine: machine(),
      rows: [
        row(`dead rows, ${PER_SECOND} events/s for ${SECONDS} s`, 'rows', dead),
        row('tables and indexes', 'MB', megabytes),
        row(
          'rows in the outbox',
          'rows',
          samples.map(({ waiting }) => waiting),
        ),
      ],
      bars: [
        atMost('most dead rows, second half ÷ first', mostOf(second, 'dead') / mostOf(first, 'dead'), 1.25),
        atMost('size, second half ÷ first', mostOf(second, 'bytes') / mostOf(first, 'bytes'), 1.25),
      ],
    }
  } finally {
    await server.close()
  }
}
