import { describe, expect, it } from 'vitest'
import { refused, consumerWorld as world } from '../../../test/support/consumer-world.ts'
import { memoryBroker } from '../../adapters/memory/index.ts'
import { postgresOutbox } from '../../adapters/postgres/index.ts'
import type { Broker } from '../../ports/broker.ts'
import { createFactory } from '../../testing/factories.ts'
import { FakeClock } from '../../testing/fake-clock.ts'
import { seededRandom } from '../../testing/seeded-random.ts'
import { tracedBroker } from '../traced-broker.ts'

/** The start times of all attempts of an event that always fails, since the first, with the middle of every jitter. */
async function attemptTimes(change: (broker: Broker) => Broker): Promise<readonly number[]> {
  const clock = new FakeClock()
  const memory = memoryBroker({ clock })
  const startedAt: number[] = []
  const { consumer } = world({
    clock,
    broker: change(memory),
    breaker: 'off',
    random: () => 0.5,
    handle: async () => {
      startedAt.push(clock.now())
      throw refused()
    },
  })
  await consumer.start()
  await memory.publish([createFactory({ clock, random: seededRandom(1) }).event({ channel: 'orders' })])
  await clock.advance(60 * 60_000)
  await consumer.close()
  return startedAt.map(at => at - startedAt[0]!)
}

describe('the retry defaults of a consumer', () => {
  it('F1: are 6 attempts, 1 s doubling, ±10 %, where the broker declares none', async () => {
    expect(await attemptTimes(broker => broker)).toEqual([0, 1_000, 3_000, 7_000, 15_000, 31_000])
  })

  it('S2, R6: are those of an outbox where the broker declares it: 5 attempts, full jitter', async () => {
    const asOutbox = (broker: Broker) => Object.assign(broker, { retryPreset: 'outbox' as const })
    const expected = [0, 500, 1_500, 3_500, 7_500]
    expect(await attemptTimes(asOutbox)).toEqual(expected)
    const none = () => undefined
    const tracing = { publish: none, follow: none, call: none, write: none, context: none }
    expect(await attemptTimes(broker => tracedBroker(asOutbox(broker), tracing))).toEqual(expected)
  })

  it('S2, R6: the outbox declares its preset', () => {
    const pool = {
      query: () => Promise.reject(new Error('unused')),
      connect: () => Promise.reject(new Error('unused')),
    }
    expect(postgresOutbox({ pool: pool as never }).retryPreset).toBe('outbox')
  })

  it('F7: a broker with a preset that does not exist is refused', () => {
    const broker = Object.assign(memoryBroker(), { retryPreset: 'inbox' as never })
    expect(() => world({ broker })).toThrow(/retryPreset.*'inbox'/s)
  })
})
