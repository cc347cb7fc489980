import { findRedis } from '../test/services/redis.ts'
import type { RedisNode } from '../test/services/redis-node.ts'
import { type Bar, type BenchResult, machine, type Row } from './harness/result.ts'
import { ratioBar, rowsOf, type Samples, takeTurns } from './harness/rounds.ts'
import { bullmq } from './redis/bullmq.ts'
import { BATCH, type Candidate } from './redis/candidate.ts'
import { lazaret } from './redis/lazaret.ts'
import { raw } from './redis/raw.ts'

/** For a quick look: LAZARET_BENCH_EVENTS=20000 npm run bench redis. */
const EVENTS = Number(process.env['LAZARET_BENCH_EVENTS'] ?? 100_000)
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

async function take(node: RedisNode, title: string): Promise<Samples> {
  const what = MEASURES[title]!
  const candidates = Object.entries(CANDIDATES).filter(([, candidate]) => candidate[what] !== undefined)
  return await takeTurns(title, Object.fromEntries(candidates), async (candidate, part) => {
    await node.command('FLUSHALL')
    const share = part * (what === 'failOnce' ? FAILING_SHARE : 1)
    const count = Math.ceil((EVENTS * share) / BATCH) * BATCH
    if (what !== 'publish') await candidate.publish(node.url, count)
    return await candidate[what]!(node.url, count)
  })
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
      rows.push(...rowsOf(title, 'events/s', samples))
      const ofTitle = BARS.filter(([of]) => of === title)
      bars.push(...ofTitle.map(([of, peer, least]) => ratioBar(of, samples, 'lazaret', peer, least)))
    }
  } finally {
    await server.close()
  }
  return { bench: 'redis', machine: machine(), rows, bars }
}
