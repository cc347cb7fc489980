import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { memoryDeadLetters } from '../src/adapters/memory/index.ts'
import { postgresOutbox } from '../src/adapters/postgres/index.ts'
import { rabbitmq } from '../src/adapters/rabbitmq/index.ts'
import { redisStreams } from '../src/adapters/redis/index.ts'
import { sqliteBroker } from '../src/adapters/sqlite/index.ts'
import { fixed } from '../src/core/retry/fixed.ts'
import type { Broker } from '../src/ports/broker.ts'
import { createConsumer } from '../src/runtime/consumer/consumer.ts'
import { TestTiming, uniqueName } from '../src/testing/conformance/harness.ts'
import { findPostgres } from './services/postgres.ts'
import { findRabbitmq } from './services/rabbitmq.ts'
import { findRedis } from './services/redis.ts'
import { make } from './support/outbox-world.ts'
import { TestDatabase } from './support/postgres.ts'

const COUNT = 25
const timing = new TestTiming({})
const [foundPostgres, foundRabbitmq, foundRedis] = [
  await findPostgres(),
  await findRabbitmq(),
  await findRedis(),
]
const postgres = foundPostgres.found ? await foundPostgres.start() : undefined
const rabbit = foundRabbitmq.found ? await foundRabbitmq.start() : undefined
const redis = foundRedis.found ? await foundRedis.start() : undefined
const database = postgres && (await TestDatabase.migrated(postgres))
const folder = await mkdtemp(join(tmpdir(), 'lazaret-retry-limit-'))
afterAll(async () => {
  await database?.close()
  await Promise.all([postgres?.close(), rabbit?.close(), redis?.close()])
  await rm(folder, { recursive: true })
})

const brokers: readonly [string, boolean, () => Broker][] = [
  ['sqlite', true, () => sqliteBroker({ path: join(folder, 'events.db') })],
  ['postgres', foundPostgres.found, () => postgresOutbox({ pool: database!.pool, maxPollMs: 50 })],
  ['rabbitmq', foundRabbitmq.found, () => rabbitmq({ url: rabbit!.url })],
  ['redis', foundRedis.found, () => redisStreams({ url: redis!.url, maxPollMs: 50 })],
]

describe.each(brokers)('a retry limit on %s', (_, isFound, open) => {
  it.runIf(isFound)(
    'R14: loses no retry, gives up on none and costs no attempt, where most of them wait in the broker',
    async () => {
      const channel = uniqueName('orders')
      const attempts = new Map<string, number[]>()
      const handled = new Set<string>()
      const deadLetters = memoryDeadLetters()
      const broker = open()
      let released = 0
      const consumer = createConsumer({
        broker,
        channel,
        deadLetters,
        concurrency: 2,
        prefetch: 4,
        breaker: 'off',
        poison: 'off',
        // Slow enough for any machine to reach it.
        retryLimit: { perSecond: 5, jitterRatio: 1 },
        retry: { attempts: 2, backoff: fixed({ delayMs: 200, jitter: 'none' }) },
        observer: { eventProcessed: ({ outcome }) => void (outcome === 'released' && released++) },
        handle: async ({ id }, { attempt }) => {
          attempts.set(id, [...(attempts.get(id) ?? []), attempt])
          if (attempt === 1) throw new Error('the first time fails')
          handled.add(id)
        },
      })
      await consumer.start()
      await broker.publish(make.events(COUNT, { channel }))
      await timing.eventually(() => handled.size === COUNT, 'all are handled')
      expect((await deadLetters.stats()).count).toBe(0)
      // A release takes its start back, so the second attempt stays the second.
      expect(
        [...attempts.values()].every(
          ([first, second, ...more]) => first === 1 && second === 2 && !more.length,
        ),
      ).toBe(true)
      expect(released).toBeGreaterThan(0)
      await consumer.close()
    },
    90_000,
  )
})
