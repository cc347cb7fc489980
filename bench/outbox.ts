import { findPostgres } from '../test/services/postgres.ts'
import { percentile } from './harness/percentile.ts'
import { atMost, type Bar, type BenchResult, machine, type Row, row } from './harness/result.ts'
import { ratioBar, type Samples } from './harness/rounds.ts'
import { type BenchDatabase, type Candidate, vacuumAnalyze, withBenchDatabase } from './outbox/candidate.ts'
import { graphileWorker } from './outbox/graphile-worker.ts'
import { lazaret, lazaretDeleting } from './outbox/lazaret.ts'
import { pgBoss } from './outbox/pg-boss.ts'
import { rawDelete, rawIntoOutbox, rawKeepingErrors, rawUpdate } from './outbox/raw.ts'

/** For a quick look: LAZARET_BENCH_EVENTS=20000 npm run bench outbox. */
const EVENTS = Number(process.env['LAZARET_BENCH_EVENTS'] ?? 100_000)
const SINGLE = Math.ceil(EVENTS / 50)
const LATENCIES = 100
const ROUNDS = 3
/** Some of the measures: LAZARET_BENCH_ONLY=process,enqueue npm run bench outbox. */
const ONLY = process.env['LAZARET_BENCH_ONLY']?.split(',')

const CANDIDATES: Readonly<Record<string, Candidate>> = {
  'raw UPDATE loop': rawUpdate,
  'raw DELETE loop': rawDelete,
  'raw UPDATE loop that keeps errors': rawKeepingErrors,
  "raw insert into lazaret's table": rawIntoOutbox,
  lazaret,
  'lazaret, deleting': lazaretDeleting,
  'pg-boss': pgBoss,
  'graphile-worker': graphileWorker,
}

/** Candidates that take part in only one measure. */
const ONLY_IN: ReadonlyMap<Candidate, string> = new Map([
  [lazaretDeleting, 'process'],
  [rawKeepingErrors, 'all fail once'],
  [rawIntoOutbox, 'enqueue, in batches of 1000'],
])

type Measure = (
  candidate: Candidate,
  database: BenchDatabase,
  share: number,
) => Promise<number | readonly number[]> | undefined

/** Fills the table before the measurement. */
function filled(
  measure: (candidate: Candidate, database: BenchDatabase, count: number) => Promise<number> | undefined,
): Measure {
  return async (candidate, database, share) => {
    const count = Math.ceil((EVENTS * share) / 1_000) * 1_000
    await candidate.enqueueBatches(database, count)
    await vacuumAnalyze(database)
    return (await measure(candidate, database, count))!
  }
}

const MEASURES: Readonly<
  Record<string, { has: (of: Candidate) => unknown; unit: string; measure: Measure }>
> = {
  'enqueue, in batches of 1000': {
    has: of => of.enqueueBatches,
    unit: 'events/s',
    measure: (of, database, share) =>
      of.enqueueBatches(database, Math.ceil((EVENTS * share) / 1_000) * 1_000),
  },
  'enqueue, one at a time': {
    has: of => of.enqueueSingle,
    unit: 'events/s',
    measure: (of, database, share) => of.enqueueSingle?.(database, Math.ceil(SINGLE * share)),
  },
  'enqueue, in a transaction': {
    has: of => of.enqueueInTransaction,
    unit: 'events/s',
    measure: (of, database, share) => of.enqueueInTransaction?.(database, Math.ceil(SINGLE * share)),
  },
  process: {
    has: of => of.process,
    unit: 'events/s',
    measure: filled((of, database, count) => of.process?.(database, count)),
  },
  'all fail once': {
    has: of => of.failOnce,
    unit: 'events/s',
    measure: filled((of, database, count) => of.failOnce?.(database, count)),
  },
  'commit to handler': {
    has: of => of.latencies,
    unit: 'ms',
    measure: (of, database, share) => of.latencies?.(database, Math.ceil(LATENCIES * share)),
  },
}

/**
 * Runs all candidates in every round, in turn, so that a busy moment of the machine affects all of them. The first
 * round is a warm-up with a tenth of the events and is not counted.
 */
async function take(server: string, title: string): Promise<Samples> {
  const { has, unit, measure } = MEASURES[title]!
  const samples: Record<string, number[]> = {}
  const candidates = Object.entries(CANDIDATES).filter(
    ([, candidate]) => has(candidate) && (ONLY_IN.get(candidate) ?? title) === title,
  )
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, candidate] of candidates) {
      const found = await withBenchDatabase(server, async database => {
        await candidate.prepare(database)
        return (await measure(candidate, database, round === 0 ? 0.1 : 1))!
      })
      const told = typeof found === 'number' ? found : percentile(found, 0.5)
      process.stderr.write(
        `${title}, ${name}${round === 0 ? ' (warming up)' : ''}: ${told.toFixed(1)} ${unit}\n`,
      )
      if (round > 0)
        samples[name] = [...(samples[name] ?? []), ...(typeof found === 'number' ? [found] : found)]
    }
  }
  return samples
}

const BARS: readonly (readonly [title: string, ours: string, peer: string, least: number])[] = [
  ['enqueue, in batches of 1000', 'lazaret', 'raw UPDATE loop', 0.7],
  ['process', 'lazaret', 'pg-boss', 1.5],
  ['process', 'lazaret', 'raw UPDATE loop', 0.8],
  ['process', 'lazaret, deleting', 'graphile-worker', 1.5],
  ['all fail once', 'lazaret', 'pg-boss', 1.5],
  ['all fail once', 'lazaret', 'graphile-worker', 1.5],
]

function latencyRows(title: string, samples: Samples): Row[] {
  return Object.entries(samples).flatMap(([name, latencies]) =>
    [0.5, 0.99].map(share => ({
      ...row(`${title}, p${share * 100}, ${name}`, 'ms', latencies),
      median: percentile(latencies, share),
    })),
  )
}

export async function run(): Promise<BenchResult> {
  const found = await findPostgres()
  if (!found.found) throw new Error(`bench: ${found.why}`)
  const server = await found.start()
  const rows: Row[] = []
  const bars: Bar[] = []
  try {
    for (const [title, { unit }] of Object.entries(MEASURES)) {
      if (ONLY !== undefined && !ONLY.some(start => title.startsWith(start))) continue
      const samples = await take(server.url, title)
      if (unit === 'ms') {
        rows.push(...latencyRows(title, samples))
        const ours = samples['lazaret'] ?? []
        bars.push(
          atMost(`${title}, p50, ms`, percentile(ours, 0.5), 5),
          atMost(`${title}, p99, ms`, percentile(ours, 0.99), 25),
        )
      } else
        rows.push(...Object.entries(samples).map(([name, rates]) => row(`${title}, ${name}`, unit, rates)))
      bars.push(
        ...BARS.filter(([of]) => of === title).map(([, ...rest]) => ratioBar(title, samples, ...rest)),
      )
    }
  } finally {
    await server.close()
  }
  return { bench: 'outbox', machine: machine(), rows, bars }
}
