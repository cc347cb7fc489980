import { fileURLToPath } from 'node:url'
import { SerialQueue } from '../../../src/adapter-kit/serial-queue.ts'
import { withAdmin } from '../../../src/adapters/rabbitmq/admin.ts'
import { queueName, retryQueue, suspectsQueue } from '../../../src/adapters/rabbitmq/broker/topology/names.ts'
import { rabbitmq } from '../../../src/adapters/rabbitmq/index.ts'
import { DEFAULT_RETRY_STEPS_MS } from '../../../src/adapters/rabbitmq/options.ts'
import type { RabbitmqService } from '../../services/rabbitmq.ts'
import { RabbitmqAdmin } from '../../support/rabbitmq.ts'
import { FAST_DETECTION } from '../campaign/settings.ts'
import type { ClusterUnderTest } from '../cluster/campaign.ts'
import { CHANNEL, HANDLER } from '../cluster/plan.ts'
import { findMissing } from './whereabouts.ts'

const QUEUE = queueName(CHANNEL, HANDLER)
/** The held queue is not one of them: its owner keeps all its messages, so the server counts none as ready. */
const QUEUES = [
  QUEUE,
  suspectsQueue(QUEUE),
  ...DEFAULT_RETRY_STEPS_MS.map(stepMs => retryQueue(QUEUE, stepMs)),
]

/** The server of Debian 12 can forget who leads a quorum queue that was declared right before a kill. */
export async function rabbitmqCluster({ url, nodes }: RabbitmqService): Promise<ClusterUnderTest<never>> {
  await withAdmin({ url }, admin => admin.declare(QUEUE, CHANNEL, true))
  await Promise.all(nodes.map(node => node.stop()))
  await Promise.all(nodes.map(node => node.start()))

  // Of two that look into a queue at once, each sees only what the other has not taken.
  const looks = new SerialQueue()
  /** The server can be killed at any time, so each look has a connection of its own. */
  function outside<T>(look: (admin: RabbitmqAdmin) => Promise<T>): Promise<T> {
    return looks.run(async () => {
      const admin = await RabbitmqAdmin.at(url)
      try {
        return await look(admin)
      } finally {
        await admin.close()
      }
    })
  }

  return {
    nodes,
    broker: rabbitmq({ url, ...FAST_DETECTION }),
    consumer: { script: fileURLToPath(new URL('consumer.ts', import.meta.url)), address: url },
    letters: () => outside(admin => admin.letters(`${QUEUE}.dlq`)),
    depth: () =>
      outside(async admin => {
        let sum = 0
        for (const queue of QUEUES) sum += await admin.depth(queue)
        return sum
      }),
    inject: async () => {},
    findMissing: (events, isOver) => outside(admin => findMissing(admin, QUEUE, events, isOver)),
    close: async () => {},
  }
}
