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
/** Who changes something, as the log of the server names it. */
const ACTOR = 'tests'

/** The user that the adapter logs in as, with all permissions. */
export async function addUser(node: RabbitmqNode): Promise<void> {
  await node.call(`rabbit_auth_backend_internal:add_user(${binaries(USER, USER, ACTOR)})`)
  await permit(node, '.*')
}

/** The user may configure, write and read what the pattern matches. */
function permit(node: RabbitmqNode, pattern: string): Promise<void> {
  const words = binaries(USER, '/', pattern, pattern, pattern, ACTOR)
  return node.call(`rabbit_auth_backend_internal:set_permissions(${words})`)
}

/** Texts as the arguments of a function of Erlang. */
function binaries(...texts: readonly string[]): string {
  return texts.map(text => `<<${JSON.stringify(text)}>>`).join(', ')
}

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
        const words = binaries('/', POLICY, pattern, full, '0', 'queues', ACTOR)
        await node.call(`rabbit_policy:parse_set(${words})`)
      },
      undo: () => node.call(`rabbit_policy:delete(${binaries('/', POLICY, ACTOR)})`),
      recovery: 'after-undo',
      reports: 'letters',
    },
    {
      name: 'all permissions are taken away',
      inject: async () => {
        await permit(node, '^$')
        const words = binaries(USER, 'permissions changed')
        await node.call(`rabbit_networking:close_all_user_connections(${words})`)
      },
      undo: () => permit(node, '.*'),
      recovery: 'after-undo',
      reports: 'deliveries',
      refusesPublishing: true,
    },
  ]
}
