import { findRedis } from '../test/services/redis.ts'
import type { RedisNode } from '../test/services/redis-node.ts'
import { atLeast, type Bar, type BenchResult, machine, type Row, row } from './harness/result.ts'
import { bullmq } from './redis/bullmq.ts'
import { BATCH, type Candidate } from './redis/candidate.ts'
import { lazaret } from './redis/lazaret.ts'
import { raw } from './redis/raw.ts'

/** For a quick look: LAZARET_BENCH_EVENTS=20000 npm run bench redis. */
const EVENTS = Number(process.env['LAZARET_BENCH_EVENTS'] ?? 100_000)
const ROUNDS = 3
/** The share of events that fail, which is enough for a rate. */
const FAILING_SHARE = 0.2
/** Some of the measures: LAZARET_BENCH_ONLY=process npm run bench redis. */
const ONLY = process.env['LAZARET_BENCH_ONLY']?.split(',')

const CANDIDATES: Readonly<Record<string, Candidate>> = { 'raw commands': raw, lazaret, BullMQ: bullmq }

const MEASURES: Readonly<Record<string, keyof Candidate>> = {
  'publish, in batches of 1000': 'publish',
  process: 'process',
  'all fail once': 'failOnce',
}

const BARS: readonly (readonly [title: string, peer: string, least: number])[] = [
  ['publish, in batches of 1000', 'BullMQ', 3],
  ['process', 'BullMQ', 3],
  ['process', 'raw commands', 0.4],
  ['all fail once', 'BullMQ', 1.5],
]

type Samples = Readonly<Record<string, readonly number[]>>

/**
 * Runs all candidates in every round, in turn, so that a busy moment of the machine affects all of them. The first
 * round is a warm-up with a tenth of the events and is not counted.
 */
async function take(node: RedisNode, title: string): Promise<Samples> {
  const what = MEASURES[title]!
  const samples: Record<string, number[]> = {}
  const candidates = Object.entries(CANDIDATES).filter(([, candidate]) => candidate[what] !== undefined)
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, candidate] of candidates) {
      await node.command('FLUSHALL')
      const share = (round === 0 ? 0.1 : 1) * (what === 'failOnce' ? FAILING_SHARE : 1)
      const count = Math.ceil((EVENTS * share) / BATCH) * BATCH
      if (what !== 'publish') await candidate.publish(node.url, count)
      const rate = await candidate[what]!(node.url, count)
      process.stderr.write(`${title}, ${name}${round === 0 ? ' (warming up)' : ''}: ${rate.toFixed(0)}/s\n`)
      if (round > 0) samples[name] = [...(samples[name] ?? []), rate]
    }
  }
  return samples
}

/** Ratios are computed for each round, because the speed of the machine differs between rounds. */
function bar(title: string, samples: Samples, peer: string, least: number): Bar {
  const ratios = (samples['lazaret'] ?? []).map(
    (rate, round) => rate / (samples[peer]?.[round] ?? Number.NaN),
  )
  return atLeast(`${title}: lazaret ÷ ${peer}, median of rounds`, row('', '', ratios).median, least)
}

export async function run(): Promise<BenchResult> {
  const found = await findRedis()
  if (!found.found || !found.isPrivate) throw new Error('bench: it needs a Redis of its own, to empty it')
  // A durable configuration: every write is logged, and the log is synced every second.
  const server = await found.start({ appendonly: 'yes', appendfsync: 'everysec' })
  const rows: Row[] = []
  const bars: Bar[] = []
  try {
    for (const title of Object.keys(MEASURES)) {
      if (ONLY !== undefined && !ONLY.some(start => title.startsWith(start))) continue
      const samples = await take(server.node!, title)
      rows.push(
        ...Object.entries(samples).map(([name, rates]) => row(`${title}, ${name}`, 'events/s', rates)),
      )
      bars.push(
        ...BARS.filter(([of]) => of === title).map(([of, peer, least]) => bar(of, samples, peer, least)),
      )
    }
  } finally {
    await server.close()
  }
  return { bench: 'redis', machine: machine(), rows, bars }
}
