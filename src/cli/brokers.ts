import { brokerType } from '../config/brokers.ts'
import type { Config } from '../config/config.ts'
import type { Broker } from '../ports/broker.ts'
import type { Codec } from '../ports/codec.ts'
import type { Store } from '../ports/store.ts'
import { FailedError, type Io } from './io.ts'
import { codecOf } from './open-store.ts'

/** The part of a broker that takes replays and unblocks keys. */
type OpenedBroker = Pick<Broker, 'name' | 'kind' | 'publish' | 'unblockKey' | 'close'>

interface BrokerParts {
  readonly name: string
  readonly url: string
  readonly prefix: string | undefined
  readonly codec: Codec | undefined
  readonly io: Pick<Io, 'clock' | 'random'>
  readonly onError: (error: unknown) => void
}

/** Creates the brokers of the config, which take replays. They connect when the first letter goes there. */
export async function openBrokers(
  config: Config,
  stores: readonly Pick<Store, 'broker' | 'url'>[],
  io: Pick<Io, 'clock' | 'random'>,
  onError: (error: unknown) => void,
): Promise<readonly OpenedBroker[]> {
  const given = Object.entries(config.brokers ?? {})
  if (given.length === 0) return []
  for (const [name] of given) requireOtherName(name, stores)
  const codec = await codecOf(config)
  return await Promise.all(
    given.map(([name, { url, prefix }]) => openBroker({ name, url, prefix, codec, io, onError })),
  )
}

/** Of two brokers with one name, letters could go to the wrong one, where no consumer reads them. */
function requireOtherName(name: string, stores: readonly Pick<Store, 'broker' | 'url'>[]): void {
  const own = stores.find(({ broker }) => broker?.name === name)
  if (own === undefined) return
  throw new FailedError(
    `brokers.${name}: ${own.url} has a broker of the same name, which takes its own letters; remove brokers.${name}, or give one of the two another name in its services (brokerName in the config names that of the store)`,
  )
}

async function openBroker({ name, url, prefix, codec, io, onError }: BrokerParts): Promise<OpenedBroker> {
  const shared = { name, url, clock: io.clock, random: io.random }
  switch (brokerType(url)) {
    case 'rabbitmq':
      // The services declare their queues. This process does not know with which properties.
      return (await import('../adapters/rabbitmq/index.ts')).rabbitmq({ ...shared, declare: 'none' })
    case 'kafka': {
      const { optionsOfUrl } = await import('../adapters/kafka/url.ts')
      const { kafka } = await import('../adapters/kafka/index.ts')
      const { url: _, ...rest } = shared
      return kafka({ ...rest, ...optionsOfUrl(url), declare: 'none' })
    }
    case 'nats':
      return (await import('../adapters/nats/index.ts')).nats({ ...shared, declare: 'none' })
    case 'redis':
      return (await import('../adapters/redis/index.ts')).redisStreams({ ...shared, prefix, codec, onError })
    case 'postgres': {
      const { openPostgres } = await import('../adapters/postgres/index.ts')
      const store = openPostgres({ ...shared, codec, onError })
      const broker = store.broker!
      return {
        name,
        publish: events => broker.publish(events),
        unblockKey: (...of) => broker.unblockKey(...of),
        close: () => store.close(),
      }
    }
  }
}
