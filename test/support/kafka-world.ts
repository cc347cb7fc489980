import { afterAll } from 'vitest'
import { STORE_AFTER_MS } from '../../src/adapter-kit/ordered/key-lines.ts'
import { LOOK_EVERY_MS } from '../../src/adapters/kafka/broker/ordered/late-states.ts'
import { type KafkaBroker, type KafkaOptions, kafka } from '../../src/adapters/kafka/index.ts'
import type { SubscribeOptions, SubscriptionStatus } from '../../src/ports/broker.ts'
import { type Clock, systemClock, systemRandom } from '../../src/ports/clock.ts'
import { eventOf, Inbox } from '../../src/testing/conformance/broker/world.ts'
import { TestTiming } from '../../src/testing/conformance/harness.ts'
import { createFactory } from '../../src/testing/factories.ts'
import { findKafka, type KafkaStart } from '../services/kafka.ts'
import { OutsideKafka } from './outside-kafka.ts'

/** Events that wait behind others are stored soon, and late states are found soon. All other waits stay: some of them keep the order. */
export const hasty: Clock = {
  ...systemClock,
  schedule: (ms, work) => {
    const isShortened = ms === STORE_AFTER_MS || ms === LOOK_EVERY_MS
    return systemClock.schedule(isShortened ? 100 : ms, work)
  },
}

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
  const make = createFactory({ random: systemRandom })
  return {
    found: found.found,
    why: found.found ? '' : ` (skipped: ${found.why})`,
    /** The addresses, with commas between them. */
    brokers: service?.brokers.join(',') ?? '',
    outside,
    timing,
    make,
    open(options: Partial<KafkaOptions> = {}): KafkaBroker {
      const broker = kafka({ brokers: service!.brokers, partitions: 1, heartbeatMs: 100, ...options })
      brokers.push(broker)
      return broker
    },
    async subscribe(
      broker: KafkaBroker,
      channel: string,
      more: Partial<SubscribeOptions> = {},
      onStatus?: (status: SubscriptionStatus) => void,
    ) {
      const inbox = new Inbox(timing)
      const options = { channel, handler: 'bill', prefetch: 100, ordering: 'none', ...more } as const
      inbox.subscription = await broker.subscribe(options, delivery => inbox.receive(delivery), onStatus)
      return inbox
    },
    /** The next event is dead-lettered, and blocks its key. */
    async settleNextAsDead(inbox: Inbox, saved = true): Promise<void> {
      const delivery = await inbox.next()
      const letter = make.letter({ event: eventOf(delivery), channel: delivery.channel })
      await inbox.subscription.settle(delivery, { outcome: 'dead', letter, saved })
    },
  }
}
