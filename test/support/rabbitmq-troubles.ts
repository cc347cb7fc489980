import { onChannel } from '../../src/adapters/rabbitmq/broker/topology/declare.ts'
import { queueName } from '../../src/adapters/rabbitmq/broker/topology/names.ts'
import type { AmqpChannel } from '../../src/adapters/rabbitmq/connection/amqp.ts'
import type { BrokerTrouble, TroubledPlace } from '../../src/testing/conformance/broker/suite.ts'
import type { RabbitmqNode } from '../services/rabbitmq-node.ts'
import type { RabbitmqOutside } from './rabbitmq.ts'

/** What the client can do beside what the adapter uses. */
type Deleting = AmqpChannel & {
  deleteQueue(name: string): Promise<unknown>
  deleteExchange(name: string): Promise<unknown>
}

export const USER = 'service'
const POLICY = 'full'

/** What operators and mistakes do to a server that services run on. */
export function rabbitmqTroubles(node: RabbitmqNode, outside: RabbitmqOutside): readonly BrokerTrouble[] {
  const on = (work: (channel: Deleting) => Promise<unknown>) =>
    onChannel(outside.connection, async channel => {
      await work(channel as Deleting)
    })
  const queueOf = ({ channel, handler }: TroubledPlace) => queueName(channel, handler)
  return [
    {
      name: 'the queue is deleted',
      cause: place => on(channel => channel.deleteQueue(queueOf(place))),
      expect: 'heals',
      losesEvents: true,
    },
    {
      name: "the channel's exchange is deleted",
      cause: place => on(channel => channel.deleteExchange(place.channel)),
      expect: 'heals',
    },
    {
      name: 'the dead-letter queue and its exchange are deleted',
      cause: place =>
        on(async channel => {
          await channel.deleteExchange(`${queueOf(place)}.dlx`)
          await channel.deleteQueue(`${queueOf(place)}.dlq`)
        }),
      expect: 'heals',
    },
    {
      name: 'the dead-letter queue is full and refuses',
      cause: async place => {
        const pattern = `^${queueOf(place).replaceAll('.', '\\.')}\\.dlq$`
        const full = JSON.stringify({ 'max-length': 1, overflow: 'reject-publish' })
        await node.ctl('set_policy', '--apply-to', 'queues', POLICY, pattern, full)
      },
      undo: async () => {
        await node.ctl('clear_policy', POLICY)
      },
      expect: 'recovers',
      tells: 'letters',
    },
    {
      name: 'all permissions are taken away',
      cause: async () => {
        await node.ctl('set_permissions', USER, '^$', '^$', '^$')
        await node.ctl('close_all_user_connections', USER, 'permissions changed')
      },
      undo: async () => {
        await node.ctl('set_permissions', USER, '.*', '.*', '.*')
      },
      expect: 'recovers',
      tells: 'deliveries',
      refusesPublishing: true,
    },
  ]
}
