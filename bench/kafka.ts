import { findKafka } from '../test/services/kafka.ts'
import { FULL_SPEED } from '../test/services/kafka-node.ts'
import { percentile } from './harness/percentile.ts'
import { isWanted, measureRates, type RateMeasure } from './harness/rates.ts'
import { atMost, type Bar, type BenchResult, machine, type Row, row } from './harness/result.ts'
import { loadConfluent } from './kafka/confluent.ts'
import { type Candidate, CONSUMERS } from './kafka/consume.ts'
import { FAILERS } from './kafka/failure.ts'
import { latencies } from './kafka/poisoned.ts'
import { PUBLISHERS } from './kafka/publish.ts'
import { BATCH, Topics } from './kafka/topics.ts'

/** For a quick look: LAZARET_BENCH_MESSAGES=20000 npm run bench kafka. */
const MESSAGES = Number(process.env['LAZARET_BENCH_MESSAGES'] ?? 200_000)
const ROUNDS = 3
/**
 * The default of Kafka. With the 10 s of the tests, a busy machine expels a consumer now and then, and then all its open events
 * run one at a time.
 */
const CALM_SESSION_MS = 45_000

const MEASURES: Readonly<Record<string, RateMeasure<Candidate>>> = {
  'consume + commit': { candidates: CONSUMERS, share: 1, peer: 'raw client', least: 0.8, ticks: 1 },
  'publish, in batches of 1000': {
    candidates: PUBLISHERS,
    share: 1,
    peer: 'raw client',
    least: 0.9,
    ticks: 0,
  },
  'failure path': { candidates: FAILERS, share: 0.2, peer: 'retry topics by hand', least: 0.8, ticks: 2 },
}

/** The measures when its client is not installed. */
function withoutConfluent(): typeof MEASURES {
  const without = Object.entries(MEASURES).map(([title, { candidates, ...measure }]) => {
    const { confluent: _, ...present } = candidates
    return [title, { ...measure, candidates: present }]
  })
  return Object.fromEntries(without)
}

type Found = Pick<BenchResult, 'rows' | 'bars'>

/** Latencies on one partition, alone and beside events that fail. The first round is a warm-up. */
async function besidePoison(topics: Topics): Promise<Found> {
  const p99 = { alone: [] as number[], beside: [] as number[] }
  for (let round = 0; round <= ROUNDS; round++)
    for (const name of ['alone', 'beside'] as const) {
      const found = percentile(await latencies(topics, name === 'beside'), 0.99)
      process.stderr.write(`p99, ${name}: ${found.toFixed(1)} ms\n`)
      if (round > 0) p99[name].push(found)
    }
  const ratios = p99.beside.map((ms, round) => ms / p99.alone[round]!)
  return {
    rows: [
      row('publish to handled, p99', 'ms', p99.alone),
      row('publish to handled beside poisoned events, p99', 'ms', p99.beside),
    ],
    bars: [atMost('p99 beside poisoned events ÷ alone, median of rounds', row('', '', ratios).median, 2)],
  }
}

export async function run(): Promise<BenchResult> {
  const found = await findKafka()
  if (!found.found || !found.isPrivate) throw new Error('bench: it needs a Kafka of its own')
  const hasConfluent = (await loadConfluent()) !== undefined
  if (!hasConfluent) process.stderr.write('@confluentinc/kafka-javascript is not installed: no rows of it\n')
  const server = await found.start({
    jvm: FULL_SPEED,
    config: { 'group.consumer.session.timeout.ms': String(CALM_SESSION_MS) },
  })
  const topics = new Topics(server.brokers)
  const rows: Row[] = []
  const bars: Bar[] = []
  const add = (more: Found) => {
    rows.push(...more.rows)
    bars.push(...more.bars)
  }
  try {
    const measures = hasConfluent ? MEASURES : withoutConfluent()
    const size = { messages: MESSAGES, batch: BATCH }
    add(await measureRates(measures, size, (candidate, round) => candidate({ topics, ...round })))
    if (isWanted('poisoned')) add(await besidePoison(topics))
  } finally {
    await topics.close()
    await server.close()
  }
  return { bench: 'kafka', machine: machine(), rows, bars }
}
