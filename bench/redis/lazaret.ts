import { redisStreams } from '../../src/adapters/redis/index.ts'
import { fixed } from '../../src/core/retry/fixed.ts'
import { type ConsumerOptions, createConsumer, createEvent } from '../../src/index.ts'
import { perSecond } from '../harness/load.ts'
import { Meter } from '../harness/meter.ts'
import { BATCH, type Candidate, inBatches, PAYLOAD } from './candidate.ts'

const CHANNEL = 'orders'
const CONCURRENCY = 1_000

const event = () => createEvent({ channel: CHANNEL, type: 'order.placed', payload: PAYLOAD })

/** Settlements per second, from the first to the last. */
async function settled(
  url: string,
  count: number,
  options: Pick<ConsumerOptions, 'handle'> & Partial<ConsumerOptions>,
): Promise<number> {
  const meter = new Meter(count)
  const broker = redisStreams({ url })
  const consumer = createConsumer({
    broker,
    channel: CHANNEL,
    concurrency: CONCURRENCY,
    prefetch: CONCURRENCY * 3,
    observer: { eventProcessed: meter.tick },
    ...options,
  })
  await consumer.start()
  const rate = await meter.rate()
  await consumer.close()
  const reader = redisStreams({ url })
  const left = await reader.depth(CHANNEL, CHANNEL)
  await reader.close()
  if (left !== 0) throw new Error(`bench: ${left} events are left`)
  return rate
}

export const lazaret: Candidate = {
  async publish(url, count) {
    const broker = redisStreams({ url })
    const batch = () => broker.publish(Array.from({ length: BATCH }, event))
    const rate = await perSecond(count, () => inBatches(count, batch))
    await broker.close()
    return rate
  },
  process: (url, count) => settled(url, count, { handle: async () => {} }),
  failOnce: async (url, count) => {
    const rate = await settled(url, count * 2, {
      breaker: 'off',
      // The bench measures what a failure costs, beside peers without a limit. The default limit would set the pace.
      retryLimit: 'off',
      retry: { attempts: 5, backoff: fixed({ delayMs: 1, jitter: 'none' }) },
      // Retries go through the server, as with BullMQ.
      inProcessWaitMs: 0,
      handle: async (_event, { attempt }) => {
        if (attempt === 1) throw new Error('the card was declined')
      },
    })
    return rate / 2
  },
}
