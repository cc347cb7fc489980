import { findNats } from '../test/services/nats.ts'
import { measureRates, type RateMeasure } from './harness/rates.ts'
import { type BenchResult, machine } from './harness/result.ts'
import { type Candidate, CONSUMERS } from './nats/consume.ts'
import { FAILERS } from './nats/failure.ts'
import { PUBLISHERS } from './nats/publish.ts'
import { BATCH, BenchStreams } from './nats/streams.ts'

/** For a quick look: LAZARET_BENCH_MESSAGES=20000 npm run bench nats. */
const MESSAGES = Number(process.env['LAZARET_BENCH_MESSAGES'] ?? 200_000)

const MEASURES: Readonly<Record<string, RateMeasure<Candidate>>> = {
  'consume + ack': { candidates: CONSUMERS, share: 1, peer: 'raw callback', least: 0.8, ticks: 1 },
  'publish, in batches of 1000': {
    candidates: PUBLISHERS,
    share: 1,
    peer: 'raw client',
    least: 0.9,
    ticks: 0,
  },
  'failure path': { candidates: FAILERS, share: 0.2, peer: 'retry stream by hand', least: 0.8, ticks: 2 },
}

export async function run(): Promise<BenchResult> {
  const found = await findNats()
  if (!found.found || !found.isPrivate) throw new Error('bench: it needs a NATS server of its own')
  const server = await found.start()
  const streams = await BenchStreams.on(server.url)
  try {
    const size = { messages: MESSAGES, batch: BATCH }
    const measured = await measureRates(MEASURES, size, (candidate, round) =>
      candidate({ streams, ...round }),
    )
    return { bench: 'nats', machine: machine(), ...measured }
  } finally {
    await streams.close()
    await server.close()
  }
}
