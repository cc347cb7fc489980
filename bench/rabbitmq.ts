import { findRabbitmq } from '../test/services/rabbitmq.ts'
import { type Bar, type BenchResult, machine, type Row } from './harness/result.ts'
import { ratioBar, rowsOf, type Samples, takeTurns } from './harness/rounds.ts'
import { type Candidate, CONSUMERS } from './rabbitmq/consume.ts'
import { FAILERS } from './rabbitmq/failure.ts'
import { PUBLISHERS } from './rabbitmq/publish.ts'
import { Bench } from './rabbitmq/queue.ts'

/** For a quick look: LAZARET_BENCH_MESSAGES=10000 npm run bench rabbitmq. */
const MESSAGES = Number(process.env['LAZARET_BENCH_MESSAGES'] ?? 100_000)
const FAILING = Math.ceil(MESSAGES / 5)
const TYPES = ['quorum', 'classic'] as const

/** Slow candidates get fewer messages, which is enough for a rate. */
const SLOW = new Map([
  ['confirmed publish, rascal', 0.1],
  ['failure path, rascal', 0.25],
])

const UNIT = 'messages/s'

function measure<R extends { readonly messages: number }>(
  title: string,
  candidates: Readonly<Record<string, Candidate<R>>>,
  setup: R,
): Promise<Samples> {
  return takeTurns(title, candidates, (run, part, name) => {
    const share = (SLOW.get(`${title.split(',', 1)[0]}, ${name}`) ?? 1) * part
    return run({ ...setup, messages: Math.ceil(setup.messages * share) })
  })
}

function bar(title: string, samples: Samples, peer: string, least: number): Bar {
  return ratioBar(title, samples, 'lazaret', peer, least)
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
        rows.push(...rowsOf(title, UNIT, samples))
        bars.push(bar(title, samples, 'amqplib, raw', 0.9))
      }
      const title = `confirmed publish, ${type}`
      const samples = await measure(title, PUBLISHERS, { bench, type, messages: MESSAGES })
      rows.push(...rowsOf(title, UNIT, samples))
      bars.push(bar(title, samples, 'amqplib, raw', 0.9))
    }
    for (const type of TYPES) {
      const title = `failure path, ${type}, prefetch 1000`
      const samples = await measure(title, FAILERS, { bench, type, prefetch: 1_000, messages: FAILING })
      rows.push(...rowsOf(title, UNIT, samples))
      bars.push(bar(title, samples, 'amqplib, hand-written', 0.9), bar(title, samples, 'rascal', 3))
    }
  } finally {
    await bench.close()
    await server.close()
  }
  return { bench: 'rabbitmq', machine: machine(), rows, bars }
}
