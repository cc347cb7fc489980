import { connect } from 'amqplib'
import { Connection } from 'rabbitmq-client'
import { rabbitmq } from '../../src/adapters/rabbitmq/index.ts'
import type { Observer } from '../../src/ports/observer.ts'
import { createConsumer } from '../../src/runtime/consumer/consumer.ts'
import { Meter } from '../harness/meter.ts'
import type { Bench, QueueType } from './queue.ts'
import { openRascal } from './rascal.ts'

export interface ConsumeRound {
  readonly bench: Bench
  readonly type: QueueType
  readonly prefetch: number
  readonly messages: number
}

/** Consumed and acknowledged messages per second. */
export type Candidate<R> = (round: R) => Promise<number>

/** Counts every message, as metrics do. */
export function counting(): Observer {
  const counts = { processed: 0, succeeded: 0, failed: 0, retried: 0, gaveUp: 0, seconds: 0 }
  return {
    eventProcessed: ({ durationMs }) => {
      counts.processed++
      counts.seconds += durationMs / 1_000
    },
    callSucceeded: () => void counts.succeeded++,
    attemptFailed: () => void counts.failed++,
    retryScheduled: () => void counts.retried++,
    gaveUp: () => void counts.gaveUp++,
  }
}

async function filled({ bench, type, messages }: ConsumeRound, name: string): Promise<string> {
  const queue = bench.newName(name)
  await bench.declare(queue, type)
  await bench.fill(queue, messages)
  return queue
}

const raw: Candidate<ConsumeRound> = async round => {
  const queue = await filled(round, 'raw')
  const connection = await connect(round.bench.url)
  const channel = await connection.createChannel()
  await channel.prefetch(round.prefetch)
  const meter = new Meter(round.messages)
  await channel.consume(queue, message => {
    channel.ack(message!)
    meter.tick()
  })
  const rate = await meter.rate()
  await connection.close()
  await round.bench.remove(queue)
  return rate
}

const ours: Candidate<ConsumeRound> = async ({ bench, type, prefetch, messages }) => {
  const channel = bench.newName('ours')
  const meter = new Meter(messages)
  const options = { url: bench.url, queueType: type }
  const consume = () =>
    createConsumer({
      broker: rabbitmq(options),
      channel,
      concurrency: prefetch,
      prefetch,
      observer: counting(),
      handle: async () => meter.tick(),
    })
  // The consumer declares its queue.
  const first = consume()
  await first.start()
  await first.close()
  await bench.fill(channel, messages)
  const consumer = consume()
  await consumer.start()
  const rate = await meter.rate()
  await consumer.close()
  if ((await bench.depth(channel)) > 0) throw new Error('bench: not everything was acknowledged')
  await bench.remove(channel, `${channel}.dlq`, `${channel}.suspects`)
  return rate
}

const client: Candidate<ConsumeRound> = async round => {
  const queue = await filled(round, 'client')
  const connection = new Connection(round.bench.url)
  const meter = new Meter(round.messages)
  const { prefetch } = round
  const consumer = connection.createConsumer(
    { queue, queueOptions: { passive: true }, qos: { prefetchCount: prefetch }, concurrency: prefetch },
    async () => meter.tick(),
  )
  const rate = await meter.rate()
  await consumer.close()
  await connection.close()
  await round.bench.remove(queue)
  return rate
}

const rascal: Candidate<ConsumeRound> = async round => {
  const queue = await filled(round, 'rascal')
  const broker = await openRascal(round.bench.url, {
    queues: { [queue]: { assert: false, check: true } },
    subscriptions: { all: { queue, prefetch: round.prefetch } },
  })
  const meter = new Meter(round.messages)
  const session = await broker.subscribe('all')
  session
    .on('message', (_message, _content, ackOrNack) => {
      ackOrNack()
      meter.tick()
    })
    .on('error', () => {})
  const rate = await meter.rate()
  await broker.shutdown()
  await round.bench.remove(queue)
  return rate
}

export const CONSUMERS: Readonly<Record<string, Candidate<ConsumeRound>>> = {
  'amqplib, raw': raw,
  lazaret: ours,
  rascal,
  'rabbitmq-client': client,
}
