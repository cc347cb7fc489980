import { brokerType } from '../config/brokers.ts'
import type { Config } from '../config/config.ts'
import type { Collector } from '../ports/collector.ts'
import type { Io } from './io.ts'

/** Creates the collectors of the config. They do not connect yet. */
export async function openCollectors(
  { collectors = {} }: Config,
  io: Pick<Io, 'clock' | 'random'>,
  onError: (error: unknown) => void,
): Promise<readonly { readonly collector: Collector; readonly store: string | undefined }[]> {
  const given = Object.entries(collectors)
  if (given.length === 0) return []
  return await Promise.all(
    given.map(async ([name, options]) => ({
      store: options.store,
      collector: await openCollector(options, { name, onError, clock: io.clock, random: io.random }),
    })),
  )
}

type CollectorConfig = NonNullable<Config['collectors']>[string]

async function openCollector(
  { store: _, pollInterval, handledAfter, ...options }: CollectorConfig,
  base: Pick<Io, 'clock' | 'random'> & { readonly name: string; onError(error: unknown): void },
): Promise<Collector> {
  const times = { pollIntervalMs: pollInterval, handledAfterMs: handledAfter }
  if (brokerType(options.url) === 'kafka') {
    const { kafkaCollector } = await import('../adapters/kafka/index.ts')
    const { optionsOfUrl } = await import('../adapters/kafka/url.ts')
    const { url, topics = [], group, originalTopics } = options
    return kafkaCollector({ ...base, ...times, ...optionsOfUrl(url), topics, group, originalTopics })
  }
  if (brokerType(options.url) === 'nats') {
    const { natsCollector } = await import('../adapters/nats/index.ts')
    const { url, streams, maxDeliver, originalSubjects } = options
    return natsCollector({ ...base, ...times, url, streams, maxDeliver, originalSubjects })
  }
  const { rabbitmqCollector } = await import('../adapters/rabbitmq/index.ts')
  const { url, queues = [], management, mode, returnTo, prefetch, peekLimit } = options
  const rest = { url, management, mode, returnTo, prefetch, peekLimit }
  return rabbitmqCollector({ ...base, ...times, ...rest, queues })
}
