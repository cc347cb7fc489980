import { group } from '../core/options/resolve.ts'
import { entries, integer, list, oneOf, optional, text } from '../core/options/rules.ts'
import { brokerType, brokerUrl } from './brokers.ts'
import { duration, HTTP, numeric, url } from './rules.ts'

const collectorUrl = brokerUrl(
  /^(?:amqps?|kafkas?):\/\/./,
  "give a URL such as 'amqp://user:password@host:5672/vhost' or 'kafka://host:9092,other:9092'",
)
const httpUrl = url(HTTP, "give the URL of the management API, such as 'http://host:15672'")
const names = list(text({ maxLength: 255 }), { minItems: 1, maxItems: 1_000 })

/** The keys that only one kind of broker has. */
const ONLY_RABBITMQ = ['queues', 'management', 'mode', 'returnTo', 'prefetch', 'peekLimit'] as const
const ONLY_KAFKA = ['topics', 'group', 'originalTopics'] as const

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
    pollInterval: optional(duration),
    handledAfter: optional(duration),
    store: optional(text({ maxLength: 100 })),
  },
  (options, fault) => {
    const { url, queues, topics, management } = options
    const isKafka = brokerType(url) === 'kafka'
    if (isKafka && topics === undefined) fault('topics', "give the dead-letter topics, such as ['*.DLT']")
    if (!isKafka && queues === undefined)
      fault('queues', "give the dead-letter queues, such as ['orders.dlq']")
    for (const name of isKafka ? ONLY_RABBITMQ : ONLY_KAFKA)
      if (options[name] !== undefined)
        fault(name, `remove it; collectors of ${isKafka ? 'Kafka' : 'RabbitMQ'} do not have it`)
    const pattern = queues?.find(queue => queue.includes('*'))
    if (pattern !== undefined && management === undefined && !isKafka)
      fault(
        'management',
        `give the URL of the management API, which lists the queues that match '${pattern}'`,
      )
  },
)

/** The key is the broker name in the origin of letters. */
export const collectorsRule = entries(collector, 'give a map of collector names to collectors')
