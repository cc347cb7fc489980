import { afterAll } from 'vitest'
import { type KafkaBroker, type KafkaOptions, kafka } from '../../src/adapters/kafka/index.ts'
import type { SubscribeOptions } from '../../src/ports/broker.ts'
import { systemRandom } from '../../src/ports/clock.ts'
import { Inbox } from '../../src/testing/conformance/broker/world.ts'
import { TestTiming } from '../../src/testing/conformance/harness.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { findKafka, type KafkaStart } from '../services/kafka.ts'
import { OutsideKafka } from './outside-kafka.ts'

/** A cluster for the tests of one file, and what they do with it. */
export async function kafkaWorld(start?: KafkaStart) {
  const found = await findKafka()
  const service = found.found ? await found.start(start) : undefined
  const outside = service && new OutsideKafka(service.brokers)
  const timing = new TestTiming({})
  const brokers: KafkaBroker[] = []
  afterAll(async () => {
    await Promise.all(brokers.map(broker => broker.close()))
    await outside?.close()
    await service?.close()
  })
  return {
    found: found.found,
    why: found.found ? '' : ` (skipped: ${found.why})`,
    outside,
    timing,
    make: createFactory({ random: systemRandom }),
    open(options: Partial<KafkaOptions> = {}): KafkaBroker {
      const broker = kafka({ brokers: service!.brokers, partitions: 1, heartbeatMs: 100, ...options })
      brokers.push(broker)
      return broker
    },
    async subscribe(broker: KafkaBroker, channel: string, more: Partial<SubscribeOptions> = {}) {
      const inbox = new Inbox(timing)
      const options = { channel, handler: 'bill', prefetch: 100, ordering: 'none', ...more } as const
      inbox.subscription = await broker.subscribe(options, delivery => inbox.receive(delivery))
      return inbox
    },
  }
}
