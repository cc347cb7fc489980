import { fileURLToPath } from 'node:url'
import { kafka } from '../../../src/adapters/kafka/index.ts'
import type { KafkaService } from '../../services/kafka.ts'
import { OutsideKafka } from '../../support/outside-kafka.ts'
import type { ClusterUnderTest } from '../cluster/campaign.ts'
import { CHANNEL, HANDLER } from '../cluster/plan.ts'
import { FAST_DETECTION, PARTITIONS } from './settings.ts'
import { findMissing } from './whereabouts.ts'

export function kafkaCluster({ brokers, nodes }: KafkaService): ClusterUnderTest<never> {
  const outside = new OutsideKafka(brokers)
  const broker = kafka({ brokers, partitions: PARTITIONS, ...FAST_DETECTION })
  return {
    nodes,
    broker,
    consumer: {
      script: fileURLToPath(new URL('consumer.ts', import.meta.url)),
      address: brokers.join(','),
    },
    letters: () => outside.letters(`${CHANNEL}.${HANDLER}.dlq`),
    depth: () => broker.depth(CHANNEL, HANDLER),
    inject: async () => {},
    findMissing: (events, isOver) => findMissing(outside, events, isOver),
    close: () => outside.close(),
  }
}
