import { nats } from '../../src/adapters/nats/index.ts'
import { createConsumer } from '../../src/index.ts'
import type { Round as CommonRound } from '../harness/rates.ts'
import { counting } from '../rabbitmq/consume.ts'
import type { BenchStreams } from './streams.ts'

export interface Round extends CommonRound {
  readonly streams: BenchStreams
}

/** Messages per second. */
export type Candidate = (round: Round) => Promise<number>

const CONCURRENCY = 1_000
const PREFETCH = CONCURRENCY * 3

/** Gets the payload, as a handler of ours does. */
async function handle(_payload: unknown): Promise<void> {}

/** Without attempt counts and retries; a failed message is delivered again without limit. */
const raw: Candidate = async ({ streams, messages, meter }) => {
  const stream = await streams.create(streams.newName('raw'))
  await streams.fill(stream, messages)
  const stop = await streams.consume(stream, PREFETCH, message => {
    void handle(message.json()).then(() => {
      message.respond('+ACK')
      meter.tick()
    })
  })
  const rate = await meter.rate()
  stop()
  await streams.remove(stream)
  return rate
}

const lazaret: Candidate = async ({ streams, messages, meter }) => {
  const channel = streams.newName('LAZARET')
  await streams.create(channel)
  await streams.fill(channel, messages)
  const consumer = createConsumer({
    broker: nats({ url: streams.url, from: 'all' }),
    channel,
    concurrency: CONCURRENCY,
    prefetch: PREFETCH,
    observer: counting(),
    handle: async () => meter.tick(),
  })
  await consumer.start()
  const rate = await meter.rate()
  await consumer.close()
  const reader = nats({ url: streams.url })
  const left = await reader.depth(channel, channel)
  await reader.close()
  if (left !== 0) throw new Error(`bench: ${left} events are left`)
  await streams.remove(channel)
  return rate
}

export const CONSUMERS: Readonly<Record<string, Candidate>> = { 'raw callback': raw, lazaret }
