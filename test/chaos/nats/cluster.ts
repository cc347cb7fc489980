import { fileURLToPath } from 'node:url'
import { namesOf } from '../../../src/adapters/nats/broker/streams/names.ts'
import { nats } from '../../../src/adapters/nats/index.ts'
import type { NatsService } from '../../services/nats.ts'
import { OutsideNats } from '../../support/outside-nats.ts'
import type { ClusterUnderTest } from '../cluster/campaign.ts'
import { CHANNEL, HANDLER } from '../cluster/plan.ts'
import { FAST_DETECTION, type NatsFault } from './settings.ts'
import { findMissing } from './whereabouts.ts'

const { streams, consumer } = namesOf(CHANNEL, HANDLER)

/** Requests that make another server the leader of a stream, of a consumer, or of the cluster. */
const STEP_DOWNS = [
  ...Object.values(streams).map(stream => `STREAM.LEADER.STEPDOWN.${stream}`),
  `CONSUMER.LEADER.STEPDOWN.${streams.events}.${consumer}`,
  `CONSUMER.LEADER.STEPDOWN.${streams.retries}.${consumer}`,
  'META.LEADER.STEPDOWN',
]

export function natsCluster({ url, nodes }: NatsService): ClusterUnderTest<NatsFault> {
  const outside = new OutsideNats(url)
  const broker = nats({ url, ...FAST_DETECTION })
  return {
    nodes,
    broker,
    consumer: { script: fileURLToPath(new URL('consumer.ts', import.meta.url)), address: url },
    letters: () => outside.letters(streams.letters),
    depth: () => broker.depth(CHANNEL, HANDLER),
    async inject(fault, any) {
      if (fault === 'leader') {
        // Without an answer there is no leader at this moment, so that a change is under way already.
        await outside.request(any(STEP_DOWNS)).catch(() => {})
        return
      }
      await Promise.all(nodes.map(node => node.kill()))
      await Promise.all(nodes.map(node => node.start()))
    },
    findMissing: (events, isOver) => findMissing(outside, events, isOver),
    close: () => outside.close(),
  }
}
