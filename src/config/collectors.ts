import { group } from '../core/options/resolve.ts'
import { entries, integer, list, oneOf, optional, text } from '../core/options/rules.ts'
import { brokerType, brokerUrl } from './brokers.ts'
import { duration, HTTP, numeric, url } from './rules.ts'

const collectorUrl = brokerUrl(
  /^(?:amqps?|kafkas?|nats|tls):\/\/./,
  "give a URL such as 'amqp://user:password@host:5672/vhost', 'kafka://host:9092,other:9092' or 'nats://host:4222,other:4222'",
)
const httpUrl = url(HTTP, "give the URL of the management API, such as 'http://host:15672'")
const names = list(text({ maxLength: 255 }), { minItems: 1, maxItems: 1_000 })

/** The keys that only one kind of broker has. */
const ONLY = {
  rabbitmq: ['queues', 'management', 'mode', 'returnTo', 'prefetch', 'peekLimit'],
  kafka: ['topics', 'group', 'originalTopics'],
  nats: ['streams', 'maxDeliver', 'originalSubjects'],
} as const
const NAMES = { rabbitmq: 'RabbitMQ', kafka: 'Kafka', nats: 'NATS' } as const

const collector = group(
  {
    url: collectorUrl,
    queues: optional(names),
    management: optional(httpUrl),
    mode: optional(oneOf('drain', 'peek')),
    returnTo: optional(oneOf('exchange', 'queue')),
    prefetch: optional(numeric(integer({ min: 1, max: 65_535 }))),
    peekLimit: optional(numeric(integer({ min: 1, max: 100_000 }))),
    topics: optional(names),
    group: optional(text({ maxLength: 249 })),
    originalTopics: optional(
      entries(text({ maxLength: 249 }), 'give a map of dead-letter topics to their original topics'),
    ),
    streams: optional(names),
    maxDeliver: optional(names),
    originalSubjects: optional(
      entries(
        text({ maxLength: 255 }),
        'give a map of dead-letter streams to the subjects that their messages return to',
      ),
    ),
    pollInterval: optional(duration),
    handledAfter: optional(duration),
    store: optional(text({ maxLength: 100 })),
  },
  (options, fault) => {
    const { url, queues, topics, management, streams, maxDeliver } = options
    const type = brokerType(url)
    const kind = type === 'kafka' || type === 'nats' ? type : 'rabbitmq'
    if (kind === 'kafka' && topics === undefined)
      fault('topics', "give the dead-letter topics, such as ['*.DLT']")
    if (kind === 'rabbitmq' && queues === undefined)
      fault('queues', "give the dead-letter queues, such as ['orders.dlq']")
    if (kind === 'nats' && streams === undefined && maxDeliver === undefined)
      fault('streams', "give the dead-letter streams, such as ['*_DLQ'], or give maxDeliver")
    for (const [owner, keys] of Object.entries(ONLY))
      for (const name of keys)
        if (owner !== kind && options[name] !== undefined)
          fault(name, `remove it; collectors of ${NAMES[kind]} do not have it`)
    const pattern = queues?.find(queue => queue.includes('*'))
    if (pattern !== undefined && management === undefined && kind === 'rabbitmq')
      fault(
        'management',
        `give the URL of the management API, which lists the queues that match '${pattern}'`,
      )
  },
)

/** The key is the broker name in the origin of letters. */
export const collectorsRule = entries(collector, 'give a map of collector names to collectors')
