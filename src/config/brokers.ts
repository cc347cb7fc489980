import { group } from '../core/options/resolve.ts'
import { entries, optional, text } from '../core/options/rules.ts'
import { url } from './rules.ts'

const BROKER_URL = /^(?:amqps?|postgres|postgresql|rediss?):\/\/./

const broker = group(
  {
    url: url(
      BROKER_URL,
      "give a URL such as 'amqp://user:password@host:5672/vhost', 'postgres://host/database' or 'redis://host'",
    ),
    prefix: optional(text({ maxLength: 200 })),
  },
  ({ url, prefix }, fault) => {
    if (prefix !== undefined && brokerType(url) !== 'redis')
      fault('prefix', 'remove it; only Redis has a prefix of keys')
  },
)

/** The key is the broker name in the origin of letters. */
export const brokersRule = entries(broker, 'give a map of broker names to brokers')

/** The type of a broker follows from its URL. */
export function brokerType(url: string): 'rabbitmq' | 'postgres' | 'redis' {
  if (url.startsWith('amqp')) return 'rabbitmq'
  return url.startsWith('redis') ? 'redis' : 'postgres'
}
