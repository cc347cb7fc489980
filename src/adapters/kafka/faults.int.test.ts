import { Admin, ConfigResourceTypes, IncrementalAlterConfigOperationTypes } from '@platformatic/kafka'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findKafka, type KafkaService } from '../../../test/services/kafka.ts'
import { systemRandom } from '../../ports/clock.ts'
import { createConsumer } from '../../runtime/consumer/consumer.ts'
import { faultTests } from '../../testing/conformance/broker/faults.ts'
import type { BrokerFault } from '../../testing/conformance/broker/suite.ts'
import { TestTiming, uniqueName } from '../../testing/conformance/harness.ts'
import { createFactory } from '../../testing/factories.ts'
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

async function limitMessages(topic: string, bytes: number): Promise<void> {
  const configs = [
    {
      name: 'max.message.bytes',
      configOperation: IncrementalAlterConfigOperationTypes.SET,
      value: String(bytes),
    },
  ]
  const resource = { resourceType: ConfigResourceTypes.TOPIC, resourceName: topic, configs }
  await admin.incrementalAlterConfigs({ resources: [resource], validateOnly: false })
}

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
    name: 'the dead-letter topic takes only small letters',
    inject: ({ channel, handler }) => limitMessages(`${channel}.${handler}.dlq`, 100),
    undo: ({ channel, handler }) => limitMessages(`${channel}.${handler}.dlq`, 10_000_000),
    recovery: 'after-undo',
    reports: 'letters',
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

const open = () =>
  kafka({ brokers: service.brokers, partitions: 2, heartbeatMs: 100, publishTimeoutMs: 1_000 })

describe.runIf(isOurs)(`Kafka in fault${isOurs ? '' : why}`, () => {
  it('B7: a dead-letter topic that refuses pauses the consumer, and its health says so until it takes letters again', async () => {
    const channel = uniqueName('small')
    const broker = open()
    const consumer = createConsumer({
      broker,
      channel,
      name: 'bill',
      retry: { attempts: 1 },
      handle() {
        throw new Error('nothing left')
      },
    })
    await consumer.start()
    await limitMessages(`${channel}.bill.dlq`, 100)
    await broker.publish([createFactory({ random: systemRandom }).event({ channel })])
    const timing = new TestTiming({})
    await timing.eventually(() => consumer.health().paused.includes('store'), 'the consumer pauses')
    expect(consumer.health().stalls).toMatchObject([
      { place: 'letters', problem: expect.stringContaining('raise max.message.bytes') },
    ])
    await limitMessages(`${channel}.bill.dlq`, 10_000_000)
    await timing.eventually(() => consumer.health().paused.length === 0, 'the consumer goes on')
    expect(await consumer.deadLetterDepths()).toMatchObject([{ depth: 1 }])
    await consumer.close()
    await broker.close()
  })

  it('E21: a broker that is silent without closing its connections is read again when it speaks', async () => {
    const channel = uniqueName('silent')
    const { event } = createFactory({ random: systemRandom })
    const brokers = service.brokers
    const broker = kafka({ brokers, heartbeatMs: 100, requestTimeoutMs: 1_000, publishTimeoutMs: 1_000 })
    const handled: string[] = []
    const consumer = createConsumer({
      broker,
      channel,
      name: 'bill',
      handle: ({ id }) => void handled.push(id),
    })
    await consumer.start()
    const timing = new TestTiming({})
    const first = event({ channel })
    await broker.publish([first])
    await timing.eventually(() => handled.includes(first.id), 'the first event is handled')
    const [node] = service.nodes
    node!.freeze()
    // Each attempt takes as long as a fetch may take.
    for (let attempt = 0; attempt < 3; attempt++)
      await expect(broker.publish([event({ channel })])).rejects.toThrow('Kafka')
    node!.thaw()
    const last = event({ channel })
    await timing.eventually(
      () =>
        broker.publish([last]).then(
          () => true,
          () => false,
        ),
      'the broker takes events again',
    )
    await timing.eventually(() => handled.includes(last.id), 'the last event is handled')
    await consumer.close()
    await broker.close()
  })

  faultTests({
    test: it,
    declares: { delay: true, keyOrder: true, deadLetters: true, durable: true },
    faults: FAULTS,
    setup: async () => ({ broker: open() }),
  })
})
