import {
  Consumer,
  type Message,
  MessagesStreamFallbackModes,
  MessagesStreamModes,
  type Producer,
} from '@platformatic/kafka'
import { kafka } from '../../src/adapters/kafka/index.ts'
import { fixed } from '../../src/core/retry/fixed.ts'
import { createConsumer } from '../../src/index.ts'
import { systemClock } from '../../src/ports/clock.ts'
import { counting } from '../rabbitmq/consume.ts'
import type { Candidate, Round } from './consume.ts'

// Every message fails, waits in a retry topic, fails again and is dead-lettered. The result is messages per second from
// the first failure to the last dead letter.

const STEP_MS = 1_000
/** Longer than the step, so that a retry waits in the topic of the step also when the clock has moved on. */
const WAIT_MS = 1_050
const AT_ONCE = 1_000
/** A write with all attempts has to fit into one batch, which has at most a megabyte. */
const WRITTEN_WITH_ATTEMPTS = 250

async function fail(): Promise<void> {
  throw new Error('the card was declined')
}

type RawMessage = Message<Buffer, Buffer, Buffer, Buffer>

/** The headers that a program by hand adds to a message whose handler failed. */
type Describe = (
  message: RawMessage,
  error: unknown,
  startedAt: number,
) => readonly (readonly [name: Buffer, value: Buffer])[]

const bytes = (text: string) => Buffer.from(text)

/** Nothing but the text of the error. */
const errorText: Describe = ({ headers }, error) => [
  ...headers,
  [bytes('error'), bytes(String(error))] as const,
]

/**
 * What Lazaret keeps of a failure: each attempt with its error, stack and times, and the place that the message came from. It
 * leaves out what only Lazaret has: the category, the fingerprint, and the letter with its own id.
 */
const sameHistory: Describe = ({ headers, topic, partition, offset, timestamp }, error, startedAt) => {
  const { name, message, stack } = error as Error
  const kept = [...headers].filter(([header]) => header.toString() !== 'attempts')
  const known = [...headers].find(([header]) => header.toString() === 'attempts')
  const log =
    known === undefined
      ? { topic, partition, offset: Number(offset), timestamp: Number(timestamp), attempts: [] }
      : JSON.parse(known[1].toString())
  const number = log.attempts.length + 1
  log.attempts.push({ number, startedAt, endedAt: systemClock.now(), name, message, stack })
  return [...kept, [bytes('attempts'), bytes(JSON.stringify(log))] as const]
}

/** Reads a topic in chunks. A chunk is moved on, in writes of so many messages, and its offsets are committed afterwards. */
async function moveOn(
  { topics }: Round,
  from: string,
  producer: Producer,
  to: string,
  waitMs: number,
  moved: () => void,
  describe: Describe,
  written: number,
): Promise<Consumer> {
  const consumer = new Consumer({ ...topics.options(), groupId: from })
  const stream = await consumer.consume({
    topics: [from],
    mode: MessagesStreamModes.COMMITTED,
    fallbackMode: MessagesStreamFallbackModes.EARLIEST,
    autocommit: false,
    maxWaitTime: 20,
  })
  const read = async () => {
    let chunk: RawMessage[] = []
    for await (const message of stream) {
      chunk.push(message)
      if (chunk.length < AT_ONCE && stream.readableLength > 0) continue
      await waitUntil(Number(chunk.at(-1)!.timestamp) + waitMs)
      const sent = await Promise.all(chunk.map(each => failed(each, to, describe)))
      await Promise.all(slices(sent, written).map(messages => producer.send({ messages })))
      await consumer.commit({ offsets: lastOf(chunk) })
      chunk.forEach(moved)
      chunk = []
    }
  }
  void read().catch(error => {
    if (!consumer.closed) throw error
  })
  return consumer
}

async function failed(message: RawMessage, topic: string, describe: Describe) {
  const { key, value } = message
  const startedAt = systemClock.now()
  try {
    await fail()
  } catch (error) {
    return { topic, key, value, headers: new Map(describe(message, error, startedAt)) }
  }
  throw new Error('bench: it must fail')
}

function slices<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  )
}

function lastOf(chunk: readonly RawMessage[]) {
  const last = new Map<number, RawMessage>()
  for (const message of chunk) last.set(message.partition, message)
  return [...last.values()].map(({ topic, partition, offset }) => ({
    topic,
    partition,
    offset: offset + 1n,
    leaderEpoch: -1,
  }))
}

async function waitUntil(time: number): Promise<void> {
  const left = time - systemClock.now()
  if (left > 0) await new Promise<void>(resolve => systemClock.schedule(left, resolve))
}

/** Retry topics by hand, with the guarantees of Lazaret: a message is on all replicas of the next topic and then committed. */
const handWritten = async (round: Round, describe: Describe, written: number): Promise<number> => {
  const { topics, messages, meter } = round
  const topic = await topics.create(topics.newName('by-hand'))
  const [retry, dead] = [`${topic}.retry`, `${topic}.dlq`]
  await topics.create(retry)
  await topics.create(dead)
  await topics.fill(topic, messages)
  const producer = topics.producer()
  const consumers = [
    await moveOn(round, topic, producer, retry, 0, meter.tick, describe, written),
    await moveOn(round, retry, producer, dead, WAIT_MS, meter.tick, describe, written),
  ]
  const rate = (await meter.rate()) / 2
  for (const consumer of consumers) await consumer.close(true)
  await producer.close()
  await topics.remove(topic, retry, dead)
  return rate
}

const lazaret: Candidate = async ({ topics, messages, meter }) => {
  const topic = await topics.create(topics.newName('lazaret'))
  await topics.fill(topic, messages)
  const consumer = createConsumer({
    broker: kafka({ brokers: topics.brokers, from: 'earliest', retryStepsMs: [STEP_MS] }),
    channel: topic,
    concurrency: AT_ONCE,
    prefetch: AT_ONCE * 3,
    breaker: 'off',
    // The bench measures what a failure costs, beside peers without a limit. The default limit would set the pace.
    retryLimit: 'off',
    retry: { attempts: 2, backoff: fixed({ delayMs: WAIT_MS, jitter: 'none' }) },
    inProcessWaitMs: 0,
    observer: { ...counting(), eventProcessed: meter.tick },
    handle: fail,
  })
  await consumer.start()
  const rate = (await meter.rate()) / 2
  await consumer.close()
  const group = `${topic}.${topic}`
  const own = [`${group}.retry.0s`, `${group}.retry.1s`, `${group}.dlq`]
  if ((await topics.size(`${group}.dlq`)) !== messages) throw new Error('bench: a dead letter is missing')
  await topics.remove(topic, ...own)
  return rate
}

export const FAILERS: Readonly<Record<string, Candidate>> = {
  'retry topics by hand': round => handWritten(round, errorText, AT_ONCE),
  'by hand, with each attempt': round => handWritten(round, sameHistory, WRITTEN_WITH_ATTEMPTS),
  lazaret,
}
