import { findPostgres } from '../test/services/postgres.ts'
import { percentile } from './harness/percentile.ts'
import { atLeast, atMost, type BenchResult, machine, row } from './harness/result.ts'
import { withBenchDatabase } from './outbox/candidate.ts'
import { type Drained, drain, fillWithHistory, prepare } from './outbox/growth.ts'

/** For a quick look: LAZARET_BENCH_ROWS=20000 npm run bench growth. */
const ROWS = Number(process.env['LAZARET_BENCH_ROWS'] ?? 1_000_000)
const EVENTS = 10_000
const ROUNDS = 9

/** The same work on an empty table and on a full one, in turn, so that a busy moment affects both. */
async function compare(server: string): Promise<{ empty: Drained[]; full: Drained[] }> {
  return withBenchDatabase(server, bare =>
    withBenchDatabase(server, async past => {
      for (const database of [bare, past]) await prepare(database)
      await fillWithHistory(past.pool, ROWS, ROWS)
      await bare.pool.query('checkpoint')
      const found: { empty: Drained[]; full: Drained[] } = { empty: [], full: [] }
      for (let round = 0; round <= ROUNDS; round++) {
        const [empty, full] = [await drain(bare, EVENTS), await drain(past, EVENTS)]
        process.stderr.write(
          `round ${round}: ${Math.round(empty.perSecond)} and ${Math.round(full.perSecond)} events/s\n`,
        )
        // The first round is a warm-up.
        if (round > 0) {
          found.empty.push(empty)
          found.full.push(full)
        }
      }
      return found
    }),
  )
}

export async function run(): Promise<BenchResult> {
  const found = await findPostgres()
  if (!found.found) throw new Error(`bench: ${found.why}`)
  const server = await found.start()
  try {
    const { empty, full } = await compare(server.url)
    const rates = (of: readonly Drained[]) => of.map(({ perSecond }) => perSecond)
    const claims = (of: readonly Drained[]) => of.flatMap(each => each.claims)
    const ratios = rates(full).map((rate, round) => rate / rates(empty)[round]!)
    const [p99Empty, p99Full] = [percentile(claims(empty), 0.99), percentile(claims(full), 0.99)]
    const name = `with ${ROWS.toLocaleString('en-US').replaceAll(',', ' ')} delivered and as many failed rows`
    return {
      bench: 'growth',
      machine: machine(),
      rows: [
        row('events, empty table', 'events/s', rates(empty)),
        row(`events, ${name}`, 'events/s', rates(full)),
        row('claim, empty table', 'ms', claims(empty)),
        row(`claim, ${name}`, 'ms', claims(full)),
        { ...row('claim, empty table, p99', 'ms', claims(empty)), median: p99Empty },
        { ...row(`claim, ${name}, p99`, 'ms', claims(full)), median: p99Full },
      ],
      bars: [
        atLeast(`throughput ${name} ÷ empty, median of rounds`, row('', '', ratios).median, 0.9),
        atMost(`p99 of a claim ${name} ÷ empty`, p99Full / p99Empty, 1.1),
      ],
    }
  } finally {
    await server.close()
  }
}
