import { onChannel } from '../../src/adapters/rabbitmq/broker/topology/declare.ts'
import { queueName } from '../../src/adapters/rabbitmq/broker/topology/names.ts'
import type { AmqpChannel } from '../../src/adapters/rabbitmq/connection/amqp.ts'
import type { BrokerFault, FaultTarget } from '../../src/testing/conformance/broker/suite.ts'
import type { RabbitmqNode } from '../services/rabbitmq-node.ts'
import type { RabbitmqAdmin } from './rabbitmq.ts'

/** What the client can do beside what the adapter uses. */
type Deleting = AmqpChannel & {
  deleteQueue(name: string): Promise<unknown>
  deleteExchange(name: string): Promise<unknown>
}

export const USER = 'service'
const POLICY = 'full'

/** What operators and mistakes do to a server that services run on. */
export function rabbitmqFaults(node: RabbitmqNode, outside: RabbitmqAdmin): readonly BrokerFault[] {
  const on = (work: (channel: Deleting) => Promise<unknown>) =>
    onChannel(outside.connection, async channel => {
      await work(channel as Deleting)
    })
  const queueOf = ({ channel, handler }: FaultTarget) => queueName(channel, handler)
  return [
    {
      name: 'the queue is deleted',
      inject: target => on(channel => channel.deleteQueue(queueOf(target))),
      recovery: 'automatic',
      losesEvents: true,
    },
    {
      name: "the channel's exchange is deleted",
      inject: target => on(channel => channel.deleteExchange(target.channel)),
      recovery: 'automatic',
    },
    {
      name: 'the dead-letter queue and its exchange are deleted',
      inject: target =>
        on(async channel => {
          await channel.deleteExchange(`${queueOf(target)}.dlx`)
          await channel.deleteQueue(`${queueOf(target)}.dlq`)
        }),
      recovery: 'automatic',
    },
    {
      name: 'the dead-letter queue is full and refuses',
      inject: async target => {
        const pattern = `^${queueOf(target).replaceAll('.', '\\.')}\\.dlq$`
        const full = JSON.stringify({ 'max-length': 1, overflow: 'reject-publish' })
        await node.ctl('set_policy', '--apply-to', 'queues', POLICY, pattern, full)
      },
      undo: async () => {
        await node.ctl('clear_policy', POLICY)
      },
      recovery: 'after-undo',
      reports: 'letters',
    },
    {
      name: 'all permissions are taken away',
      inject: async () => {
        await node.ctl('set_permissions', USER, '^$', '^$', '^$')
        await node.ctl('close_all_user_connections', USER, 'permissions changed')
      },
      undo: async () => {
        await node.ctl('set_permissions', USER, '.*', '.*', '.*')
      },
      recovery: 'after-undo',
      reports: 'deliveries',
      refusesPublishing: true,
    },
  ]
}
