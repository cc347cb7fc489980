import { ANY_CHANNELS, type Command, command, SOME_CHANNELS, SOME_QUEUES } from './command.ts'
import * as flags from './flags.ts'

/** The commands that create and show what handlers need on a broker. */
export const BROKER_COMMANDS: readonly Command[] = [
  command({
    name: 'rabbitmq declare',
    about: 'declare the queues, dead-letter queues and retry queues of a channel',
    arguments: SOME_QUEUES,
    flags: flags.declareFlags,
    examples: ['lazaret rabbitmq declare orders', 'lazaret rabbitmq declare orders.bill --channel orders'],
    load: async () => (await import('./verbs/rabbitmq.ts')).rabbitmqDeclare,
  }),
  command({
    name: 'rabbitmq status',
    about: 'show depth and consumers of queues, with their retry and dead-letter queues',
    arguments: SOME_QUEUES,
    flags: flags.rabbitmqFlags,
    examples: ['lazaret rabbitmq status orders'],
    load: async () => (await import('./verbs/rabbitmq.ts')).rabbitmqStatus,
  }),
  command({
    name: 'kafka declare',
    about: 'create the topics of a handler of each channel: retries, dead letters and held events',
    arguments: SOME_CHANNELS,
    flags: flags.kafkaDeclareFlags,
    examples: [
      'lazaret kafka declare orders --handler bill',
      'lazaret kafka declare orders --handler bill --ordered --partitions 12 --replication-factor 3',
    ],
    load: async () => (await import('./verbs/kafka.ts')).kafkaDeclare,
  }),
  command({
    name: 'kafka status',
    about: 'show lag, waiting retries, dead letters and consumers of handlers',
    arguments: ANY_CHANNELS,
    flags: flags.kafkaFlags,
    examples: ['lazaret kafka status', 'lazaret kafka status orders --json'],
    load: async () => (await import('./verbs/kafka.ts')).kafkaStatus,
  }),
  command({
    name: 'nats declare',
    about: 'create the streams of each channel and the consumers of a handler',
    arguments: SOME_CHANNELS,
    flags: flags.natsDeclareFlags,
    examples: [
      'lazaret nats declare orders --handler bill',
      'lazaret nats declare orders --handler bill --replicas 3',
    ],
    load: async () => (await import('./verbs/nats.ts')).natsDeclare,
  }),
  command({
    name: 'nats status',
    about: 'show lag, waiting retries and dead letters of handlers',
    arguments: ANY_CHANNELS,
    flags: flags.natsFlags,
    examples: ['lazaret nats status', 'lazaret nats status orders --json'],
    load: async () => (await import('./verbs/nats.ts')).natsStatus,
  }),
]
