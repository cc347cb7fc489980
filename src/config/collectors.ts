import { group } from '../core/options/resolve.ts'
import { entries, integer, list, oneOf, optional, text } from '../core/options/rules.ts'
import { duration, HTTP, numeric, url } from './rules.ts'

const amqpUrl = url(/^amqps?:\/\/./, "give a URL such as 'amqp://user:password@host:5672/vhost'")
const httpUrl = url(HTTP, "give the URL of the management API, such as 'http://host:15672'")

const collector = group(
  {
    url: amqpUrl,
    queues: list(text({ maxLength: 255 }), { minItems: 1, maxItems: 1_000 }),
    management: optional(httpUrl),
    mode: optional(oneOf('drain', 'peek')),
    returnTo: optional(oneOf('exchange', 'queue')),
    prefetch: optional(numeric(integer({ min: 1, max: 65_535 }))),
    peekLimit: optional(numeric(integer({ min: 1, max: 100_000 }))),
    pollInterval: optional(duration),
    handledAfter: optional(duration),
    store: optional(text({ maxLength: 100 })),
  },
  ({ queues, management }, fault) => {
    const pattern = queues.find(queue => queue.includes('*'))
    if (pattern !== undefined && management === undefined)
      fault(
        'management',
        `give the URL of the management API, which lists the queues that match '${pattern}'`,
      )
  },
)

/** The key is the broker name in the origin of letters. */
export const collectorsRule = entries(collector, 'give a map of collector names to collectors')
