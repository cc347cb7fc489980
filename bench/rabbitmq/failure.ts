import { hash } from 'node:crypto'
import { type ConsumeMessage, connect } from 'amqplib'
import { rabbitmq } from '../../src/adapters/rabbitmq/index.ts'
import { fixed } from '../../src/core/retry/fixed.ts'
import { systemClock, yieldToEventLoop } from '../../src/ports/clock.ts'
import { createConsumer } from '../../src/runtime/consumer/consumer.ts'
import { Meter } from '../harness/meter.ts'
import { type Candidate, type ConsumeRound, counting } from './consume.ts'
import { openRascal } from './rascal.ts'

// Every message fails, waits on the broker, fails again and is dead-lettered. The result is messages per second from
// the first failure to the last dead letter.

const WAIT_MS = 100

async function handle(): Promise<void> {
  throw new Error('the card was declined')
}

async function queues({ bench, type, messages }: ConsumeRound, name: string, isServerMoving: boolean) {
  const queue = bench.newName(name)
  const [retry, dead] = [`${queue}.retry`, `${queue}.dead`]
  await bench.declare(dead, type)
  const toDead = { 'x-dead-letter-exchange': '', 'x-dead-letter-routing-key': dead }
  await bench.declare(queue, type, isServerMoving ? toDead : {})
  await bench.declare(retry, type, {
    'x-message-ttl': WAIT_MS,
    'x-dead-letter-exchange': '',
    'x-dead-letter-routing-key': queue,
    ...(type === 'quorum'
      ? { 'x-dead-letter-strategy': 'at-least-once', 'x-overflow': 'reject-publish' }
      : {}),
  })
  await bench.fill(queue, messages)
  return { queue, retry, dead }
}

type Headers = Readonly<Record<string, unknown>>

/** The data that most programs keep of a failure. */
const errorAlone = (failure: Error): Headers => ({ error: String(failure) })

/** The data of a dead letter: every attempt with its time and error, and the place of the last failure in the code. */
const wholeHistory = (failure: Error, before: Headers): Headers => {
  const attempt = { at: systemClock.now(), name: failure.name, message: failure.message }
  const attempts = [...JSON.parse(String(before['attempts'] ?? '[]')), attempt]
  const place = failure.stack?.split('\n', 2)[1] ?? ''
  return { error: String(failure), attempts: JSON.stringify(attempts), place: hash('sha1', place) }
}

/** With the guarantees of Lazaret: the message is confirmed at its destination and then acknowledged. */
const handWritten = async (round: ConsumeRound, keep: typeof wholeHistory): Promise<number> => {
  const { queue, retry, dead } = await queues(round, 'raw', false)
  const connection = await connect(round.bench.url)
  const publishing = await connect(round.bench.url)
  const channel = await connection.createChannel()
  const confirms = await publishing.createConfirmChannel()
  await channel.prefetch(round.prefetch)
  const meter = new Meter(round.messages * 2)
  const failed = (message: ConsumeMessage, failure: Error) => {
    const { content, properties } = message
    const before = properties.headers ?? {}
    const attempt = Number(before['attempt'] ?? 0)
    const headers = { attempt: attempt + 1, ...keep(failure, before) }
    const options = { ...properties, persistent: true, mandatory: true, headers }
    confirms.publish('', attempt === 0 ? retry : dead, content, options, (error: unknown) => {
      if (error) throw error
      channel.ack(message)
      meter.tick()
    })
  }
  await channel.consume(queue, message => {
    handle().catch((failure: Error) => failed(message!, failure))
  })
  const rate = (await meter.rate()) / 2
  await connection.close()
  await publishing.close()
  await round.bench.remove(queue, retry, dead)
  return rate
}

const ours: Candidate<ConsumeRound> = async ({ bench, type, prefetch, messages }) => {
  const channel = bench.newName('ours')
  const meter = new Meter(messages * 2)
  const options = { url: bench.url, queueType: type }
  const consume = () =>
    createConsumer({
      broker: rabbitmq(options),
      channel,
      concurrency: prefetch,
      prefetch,
      breaker: 'off',
      // The bench measures what a failure costs, beside peers without a limit. The default limit would set the pace.
      retryLimit: 'off',
      retry: { attempts: 2, backoff: fixed({ delayMs: WAIT_MS, jitter: 'none' }) },
      inProcessWaitMs: 0,
      observer: { ...counting(), eventProcessed: meter.tick },
      handle,
    })
  const first = consume()
  await first.start()
  await first.close()
  await bench.fill(channel, messages)
  const consumer = consume()
  await consumer.start()
  const rate = (await meter.rate()) / 2
  await consumer.close()
  if ((await bench.depth(`${channel}.dlq`)) < messages) throw new Error('bench: a dead letter is missing')
  await bench.remove(channel, `${channel}.dlq`, `${channel}.suspects`, `${channel}.retry.${WAIT_MS}ms`)
  return rate
}

/** The better of its two ways: forward to a queue that expires, then reject to the dead-letter exchange. */
const rascal: Candidate<ConsumeRound> = async round => {
  const { queue, retry, dead } = await queues(round, 'rascal', true)
  const there = { assert: false, check: true }
  const broker = await openRascal(round.bench.url, {
    queues: { [queue]: there, [retry]: there },
    publications: { retry: { queue: retry, confirm: true, options: { persistent: true } } },
    subscriptions: { all: { queue, prefetch: round.prefetch } },
  })
  const session = await broker.subscribe('all')
  const startedAt = process.hrtime.bigint()
  session
    .on('message', (_message, _content, ackOrNack) => {
      handle().catch((failure: Error) =>
        ackOrNack(failure, [
          { strategy: 'forward', publication: 'retry', attempts: 1 },
          { strategy: 'nack' },
        ]),
      )
    })
    .on('error', () => {})
  while ((await round.bench.depth(dead)) < round.messages) await yieldToEventLoop()
  const rate = round.messages / (Number(process.hrtime.bigint() - startedAt) / 1e9)
  await broker.shutdown()
  await round.bench.remove(queue, retry, dead)
  return rate
}

export const FAILERS: Readonly<Record<string, Candidate<ConsumeRound>>> = {
  'amqplib, hand-written': round => handWritten(round, errorAlone),
  'amqplib, hand-written, with a history': round => handWritten(round, wholeHistory),
  lazaret: ours,
  rascal,
}
