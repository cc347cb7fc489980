import { group } from '../core/options/resolve.ts'
import { custom, entries, optional, type Rule, text } from '../core/options/rules.ts'

const BROKER_URL = /^(?:amqps?|postgres|postgresql|rediss?|kafkas?|nats|tls):\/\/./

/** The first host, more hosts, and the mechanism of the login. */
const KAFKA_URL =
  /^kafkas?:\/\/(?:[^@/?#:]+:[^@/?#]*@)?[^@/?#,\s]+(?:,[^@/?#,\s]+)*\/?(?:\?sasl=(?:plain|scram-sha-256|scram-sha-512))?$/i

const broker = group(
  {
    url: brokerUrl(
      BROKER_URL,
      "give a URL such as 'amqp://user:password@host:5672/vhost', 'kafka://host:9092,other:9092', 'nats://host:4222,other:4222', 'postgres://host/database' or 'redis://host'",
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

/** The first host and more hosts. */
const NATS_URL = /^(?:nats|tls):\/\/(?:[^@/?#]*@)?[^@/?#,\s]+(?:,[^@/?#,\s]+)*\/?$/i

/** The URL of a broker. One of Kafka or NATS may name several hosts, which other URLs cannot. */
export function brokerUrl(pattern: RegExp, remedy: string): Rule<string> {
  const isUrl = (value: unknown): value is string =>
    typeof value === 'string' && pattern.test(value) && isComplete(value)
  return custom(isUrl, remedy, { kind: 'text', pattern })
}

function isComplete(url: string): boolean {
  const type = brokerType(url)
  if (type === 'kafka') return KAFKA_URL.test(url)
  return type === 'nats' ? NATS_URL.test(url) : URL.canParse(url)
}

/** The type of a broker follows from its URL. */
export function brokerType(url: string): 'rabbitmq' | 'postgres' | 'redis' | 'kafka' | 'nats' {
  if (url.startsWith('amqp')) return 'rabbitmq'
  if (url.startsWith('kafka')) return 'kafka'
  if (/^(?:nats|tls):/.test(url)) return 'nats'
  return url.startsWith('redis') ? 'redis' : 'postgres'
}
