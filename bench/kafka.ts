import { findKafka, type Kafka } from '../test/services/kafka.ts'
import { FULL_SPEED } from '../test/services/kafka-node.ts'
import { Meter } from './harness/meter.ts'
import { percentile } from './harness/percentile.ts'
import { atMost, type Bar, type BenchResult, machine, type Row, row } from './harness/result.ts'
import { ratioBar, rowsOf, takeTurns } from './harness/rounds.ts'
import { loadConfluent } from './kafka/confluent.ts'
import { type Candidate, CONSUMERS } from './kafka/consume.ts'
import { FAILERS } from './kafka/failure.ts'
import { killAtLag } from './kafka/lag.ts'
import { latencies } from './kafka/poisoned.ts'
import { PUBLISHERS } from './kafka/publish.ts'
import { BATCH, Topics } from './kafka/topics.ts'

/** For a quick look: LAZARET_BENCH_MESSAGES=20000 npm run bench kafka. */
const MESSAGES = Number(process.env['LAZARET_BENCH_MESSAGES'] ?? 200_000)
const LAG = 5 * MESSAGES
/** Some of the measures: LAZARET_BENCH_ONLY=consume,lag npm run bench kafka. */
const ONLY = process.env['LAZARET_BENCH_ONLY']?.split(',')
const isWanted = (title: string) => ONLY === undefined || ONLY.some(start => title.startsWith(start))
const ROUNDS = 3
/** Other consumers get the partitions of one that was killed when the brokers have missed it for so long. */
const SESSION_MS = 2_000

interface Measure {
  readonly candidates: Readonly<Record<string, Candidate>>
  /** Of the messages, which is enough for a rate. */
  readonly share: number
  readonly peer: string
  readonly least: number
  /** How often the meter counts a message; 0 if the candidates measure by themselves. */
  readonly ticks: number
}

const MEASURES: Readonly<Record<string, Measure>> = {
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

async function afterKill(kafka: Extract<Kafka, { found: true }>): Promise<Found> {
  const server = await kafka.start({
    jvm: FULL_SPEED,
    config: { 'group.consumer.session.timeout.ms': String(SESSION_MS) },
  })
  const topics = new Topics(server.brokers)
  try {
    return await atLag(topics)
  } finally {
    await topics.close()
    await server.close()
  }
}

async function atLag(topics: Topics): Promise<Found> {
  const { firstEventMs, earlyMb, peakMb } = await killAtLag(topics, LAG)
  return {
    rows: [
      row(`first event after a kill with ${LAG} events of lag`, 'ms', [firstEventMs]),
      row('memory of the consumer after its first events', 'MB', [earlyMb]),
      row('memory of the consumer, highest', 'MB', [peakMb]),
    ],
    bars: [
      atMost('first event after a kill, ms', firstEventMs, 5_000),
      atMost('growth of memory over the lag, MB', peakMb - earlyMb, 50),
    ],
  }
}

export async function run(): Promise<BenchResult> {
  const found = await findKafka()
  if (!found.found || !found.isPrivate) throw new Error('bench: it needs a Kafka of its own')
  const hasConfluent = (await loadConfluent()) !== undefined
  if (!hasConfluent) process.stderr.write('@confluentinc/kafka-javascript is not installed: no rows of it\n')
  const server = await found.start({ jvm: FULL_SPEED })
  const topics = new Topics(server.brokers)
  const rows: Row[] = []
  const bars: Bar[] = []
  const add = (more: Found) => {
    rows.push(...more.rows)
    bars.push(...more.bars)
  }
  try {
    for (const [title, { candidates, share, peer, least, ticks }] of Object.entries(MEASURES)) {
      if (!isWanted(title)) continue
      const present = Object.entries(candidates).filter(([name]) => name !== 'confluent' || hasConfluent)
      const cpu: Record<string, number[]> = {}
      const samples = await takeTurns(title, Object.fromEntries(present), async (candidate, part, name) => {
        const messages = Math.ceil((MESSAGES * share * part) / BATCH) * BATCH
        const meter = new Meter(messages * ticks)
        const rate = await candidate({ topics, messages, meter })
        if (part === 1 && ticks > 0) cpu[name] = [...(cpu[name] ?? []), ticks * meter.cpuMicroseconds]
        return rate
      })
      rows.push(...rowsOf(title, 'messages/s', samples))
      bars.push(ratioBar(title, samples, 'lazaret', peer, least))
      if (ticks === 0) continue
      const cpuTitle = `${title}, CPU time of the client`
      rows.push(...rowsOf(cpuTitle, 'µs/message', cpu))
      bars.push(ratioBar(cpuTitle, cpu, peer, 'lazaret', least))
    }
    if (isWanted('poisoned')) add(await besidePoison(topics))
  } finally {
    await topics.close()
    await server.close()
  }
  if (isWanted('lag')) add(await afterKill(found))
  return { bench: 'kafka', machine: machine(), rows, bars }
}
