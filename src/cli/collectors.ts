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
  const { rabbitmqCollector } = await import('../adapters/rabbitmq/index.ts')
  return given.map(([name, { store, pollInterval, handledAfter, ...options }]) => ({
    store,
    collector: rabbitmqCollector({
      ...options,
      name,
      pollIntervalMs: pollInterval,
      handledAfterMs: handledAfter,
      onError,
      clock: io.clock,
      random: io.random,
    }),
  }))
}
