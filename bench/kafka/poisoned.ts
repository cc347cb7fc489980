import { kafka } from '../../src/adapters/kafka/index.ts'
import { fixed } from '../../src/core/retry/fixed.ts'
import { createConsumer, createEvent } from '../../src/index.ts'
import { PER_SECOND, pacedLatencies } from '../harness/load.ts'
import type { Topics } from './topics.ts'

const EVENTS = 5 * PER_SECOND
/** Every so many events one fails at each of its attempts. */
const POISONED_EVERY = 100
const STEP_MS = 1_000

/**
 * Milliseconds from publishing to the end of handling, at a steady rate on one partition. With poisoned neighbours, one
 * event in a hundred fails at each of its three attempts and then dies; the others are measured.
 */
export async function latencies(topics: Topics, isPoisoned: boolean): Promise<number[]> {
  const channel = await topics.create(topics.newName('latency'), 1)
  const waiting = new Map<number, () => void>()
  const broker = kafka({ brokers: topics.brokers, retryStepsMs: [STEP_MS] })
  const consumer = createConsumer({
    broker,
    channel,
    concurrency: 100,
    breaker: 'off',
    retry: { attempts: 3, backoff: fixed({ delayMs: STEP_MS + 50, jitter: 'none' }) },
    inProcessWaitMs: 0,
    handle: async ({ payload }) => {
      const { number } = payload as { readonly number: number }
      if (isPoisoned && number % POISONED_EVERY === 0) throw new Error('the card was declined')
      waiting.get(number)?.()
    },
  })
  await consumer.start()
  const measured = await pacedLatencies(EVENTS, number => {
    const handled = Promise.withResolvers<void>()
    waiting.set(number, handled.resolve)
    const isHandled = !(isPoisoned && number % POISONED_EVERY === 0)
    const published = broker.publish([createEvent({ channel, type: 'order.placed', payload: { number } })])
    return isHandled ? handled.promise : published
  })
  await consumer.close()
  return measured
}
