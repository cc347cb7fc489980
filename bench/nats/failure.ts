import type { Msg } from '@nats-io/transport-node'
import { streamsOf } from '../../src/adapters/nats/broker/streams/names.ts'
import { nats } from '../../src/adapters/nats/index.ts'
import { fixed } from '../../src/core/retry/fixed.ts'
import { createConsumer } from '../../src/index.ts'
import { systemClock } from '../../src/ports/clock.ts'
import { counting } from '../rabbitmq/consume.ts'
import type { Candidate, Round } from './consume.ts'

// Every message fails, waits for its retry, fails again and is dead-lettered. The result is messages per second from the
// first failure to the last dead letter.

const WAIT_MS = 1_000
const NANOSECONDS_PER_MS = 1_000_000
const AT_ONCE = 1_000

async function fail(): Promise<void> {
  throw new Error('the card was declined')
}

/** The message is in the next stream, with its error, before it is acknowledged. */
async function moveOn({ streams, meter }: Round, message: Msg, subject: string): Promise<void> {
  try {
    await fail()
  } catch (error) {
    message.headers?.set('error', String(error))
    await streams.publish(subject, [{ data: message.data, headers: message.headers! }])
    message.respond('+ACK')
    meter.tick()
  }
}

function waitAgain(message: Msg, delayMs: number): void {
  message.respond(`-NAK {"delay": ${Math.ceil(delayMs * NANOSECONDS_PER_MS)}}`)
}

/** $JS.ACK.stream.consumer.deliveries.sequence.deliverySequence.time.pending, from the end. */
const TIME_FROM_END = -2

/** A retry stream by hand, with the guarantees of Lazaret: waiting messages take no place of those that can be handled. */
const retryStream: Candidate = async round => {
  const { streams, messages, meter } = round
  const stream = await streams.create(streams.newName('by-hand'))
  const [retry, dead] = [`${stream}-retry`, `${stream}-dead`]
  await streams.create(retry, { retention: 'workqueue' })
  await streams.create(dead)
  await streams.fill(stream, messages)
  const stops = [
    await streams.consume(retry, AT_ONCE, message => {
      const storedMs = Number(message.reply!.split('.').at(TIME_FROM_END)) / NANOSECONDS_PER_MS
      const left = storedMs + WAIT_MS - systemClock.now()
      if (left > 0) waitAgain(message, left)
      else void moveOn(round, message, `${dead}.order`)
    }),
    await streams.consume(stream, AT_ONCE, message => void moveOn(round, message, `${retry}.order`)),
  ]
  const rate = (await meter.rate()) / 2
  for (const stop of stops) stop()
  await streams.remove(stream, retry, dead)
  return rate
}

/** Without a retry stream: a message waits in its consumer, and counts as open until its retry. */
const nak: Candidate = async round => {
  const { streams, messages, meter } = round
  const stream = await streams.create(streams.newName('nak'))
  const dead = await streams.create(`${stream}-dead`)
  await streams.fill(stream, messages)
  const stop = await streams.consume(stream, AT_ONCE, message => {
    const [, , , , deliveries] = message.reply!.split('.')
    if (deliveries !== '1') return void moveOn(round, message, `${dead}.order`)
    void fail().catch(() => {
      waitAgain(message, WAIT_MS)
      meter.tick()
    })
  })
  const rate = (await meter.rate()) / 2
  stop()
  await streams.remove(stream, dead)
  return rate
}

const lazaret: Candidate = async ({ streams, messages, meter }) => {
  const channel = await streams.create(streams.newName('LAZARET'))
  await streams.fill(channel, messages)
  const consumer = createConsumer({
    broker: nats({ url: streams.url, from: 'all' }),
    channel,
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
  const { events, retries, state, letters } = streamsOf(channel)
  if ((await streams.size(letters)) !== messages) throw new Error('bench: a dead letter is missing')
  await streams.remove(events, retries, state, letters)
  return rate
}

export const FAILERS: Readonly<Record<string, Candidate>> = {
  'retry stream by hand': retryStream,
  'nak by hand': nak,
  lazaret,
}
