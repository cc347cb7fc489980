import { Admin } from '@platformatic/kafka'
import { afterAll, beforeAll, describe, it } from 'vitest'
import { findKafka, type KafkaService } from '../../../test/services/kafka.ts'
import { faultTests } from '../../testing/conformance/broker/faults.ts'
import type { BrokerFault } from '../../testing/conformance/broker/suite.ts'
import { kafka } from './index.ts'

const found = await findKafka()
const isOurs = found.found && found.isPrivate
const why = found.found ? ' (skipped: the cluster is not ours)' : ` (skipped: ${found.why})`
let service: KafkaService
let admin: Admin

beforeAll(async () => {
  if (!isOurs) return
  service = await found.start()
  admin = new Admin({ clientId: 'operator', bootstrapBrokers: service.brokers })
})
afterAll(async () => {
  await admin?.close()
  await service?.close()
})

/** What operators and mistakes do to a cluster that services run on. */
const FAULTS: readonly BrokerFault[] = [
  {
    name: "the channel's topic is deleted",
    inject: ({ channel }) => admin.deleteTopics({ topics: [channel] }),
    recovery: 'automatic',
    losesEvents: true,
  },
  {
    name: 'a retry topic is deleted',
    inject: ({ channel, handler }) => admin.deleteTopics({ topics: [`${channel}.${handler}.retry.0s`] }),
    recovery: 'automatic',
    losesEvents: true,
  },
  {
    name: 'the dead-letter topic is deleted',
    inject: ({ channel, handler }) => admin.deleteTopics({ topics: [`${channel}.${handler}.dlq`] }),
    recovery: 'automatic',
  },
  {
    name: 'the broker is killed and started again',
    inject: async () => {
      await service.nodes[0]!.kill()
      await service.nodes[0]!.start()
    },
    recovery: 'automatic',
  },
]

describe.runIf(isOurs)(`Kafka in fault${isOurs ? '' : why}`, () => {
  faultTests({
    test: it,
    declares: { delay: true, keyOrder: true, deadLetters: true, durable: true },
    faults: FAULTS,
    setup: async () => ({
      broker: kafka({ brokers: service.brokers, partitions: 2, heartbeatMs: 100, publishTimeoutMs: 1_000 }),
    }),
  })
})
