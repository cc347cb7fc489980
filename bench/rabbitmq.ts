import { findRabbitmq } from '../test/services/rabbitmq.ts'
import { atLeast, type Bar, type BenchResult, machine, type Row, row } from './harness/result.ts'
import { type Candidate, CONSUMERS } from './rabbitmq/consume.ts'
import { FAILERS } from './rabbitmq/failure.ts'
import { PUBLISHERS } from './rabbitmq/publish.ts'
import { Bench } from './rabbitmq/queue.ts'

/** For a quick look: LAZARET_BENCH_MESSAGES=10000 npm run bench rabbitmq. */
const MESSAGES = Number(process.env['LAZARET_BENCH_MESSAGES'] ?? 100_000)
const FAILING = Math.ceil(MESSAGES / 5)
const ROUNDS = 3
const TYPES = ['quorum', 'classic'] as const

/** Slow candidates get fewer messages, which is enough for a rate. */
const SLOW = new Map([
  ['confirmed publish, rascal', 0.1],
  ['failure path, rascal', 0.25],
])

type Samples = Readonly<Record<string, readonly number[]>>

/**
 * Runs all candidates in every round, in turn, so that a busy moment of the machine affects all of them. The first
 * round is a warm-up with a tenth of the messages and is not counted.
 */
async function measure<R extends { readonly messages: number }>(
  title: string,
  candidates: Readonly<Record<string, Candidate<R>>>,
  setup: R,
): Promise<Samples> {
  const samples: Record<string, number[]> = {}
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [name, run] of Object.entries(candidates)) {
      const isWarmUp = round === 0
      const share = (SLOW.get(`${title.split(',', 1)[0]}, ${name}`) ?? 1) * (isWarmUp ? 0.1 : 1)
      const rate = await run({ ...setup, messages: Math.ceil(setup.messages * share) })
      process.stderr.write(`${title}, ${name}${isWarmUp ? ' (warming up)' : ''}: ${Math.round(rate)}/s\n`)
      if (!isWarmUp) samples[name] = [...(samples[name] ?? []), rate]
    }
  }
  return samples
}

function rowsOf(title: string, samples: Samples): Row[] {
  return Object.entries(samples).map(([name, rates]) => row(`${title}, ${name}`, 'messages/s', rates))
}

/** Ratios are computed for each round, because the speed of the machine differs between rounds. */
function bar(title: string, samples: Samples, peer: string, least: number): Bar {
  const ratios = (samples['lazaret'] ?? []).map(
    (rate, round) => rate / (samples[peer]?.[round] ?? Number.NaN),
  )
  return atLeast(`${title}: lazaret ÷ ${peer}, median of rounds`, row('', '', ratios).median, least)
}

export async function run(): Promise<BenchResult> {
  const found = await findRabbitmq()
  if (!found.found) throw new Error(`bench: ${found.why}`)
  const server = await found.start()
  const bench = await Bench.at(server.url)
  const rows: Row[] = []
  const bars: Bar[] = []
  try {
    for (const type of TYPES) {
      for (const prefetch of [100, 1_000]) {
        const title = `consume + ack, ${type}, prefetch ${prefetch}`
        const samples = await measure(title, CONSUMERS, { bench, type, prefetch, messages: MESSAGES })
        rows.push(...rowsOf(title, samples))
        bars.push(bar(title, samples, 'amqplib, raw', 0.9))
      }
      const title = `confirmed publish, ${type}`
      const samples = await measure(title, PUBLISHERS, { bench, type, messages: MESSAGES })
      rows.push(...rowsOf(title, samples))
      bars.push(bar(title, samples, 'amqplib, raw', 0.9))
    }
    for (const type of TYPES) {
      const title = `failure path, ${type}, prefetch 1000`
      const samples = await measure(title, FAILERS, { bench, type, prefetch: 1_000, messages: FAILING })
      rows.push(...rowsOf(title, samples))
      bars.push(bar(title, samples, 'amqplib, hand-written', 0.9), bar(title, samples, 'rascal', 3))
    }
  } finally {
    await bench.close()
    await server.close()
  }
  return { bench: 'rabbitmq', machine: machine(), rows, bars }
}
