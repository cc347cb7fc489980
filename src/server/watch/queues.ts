import type { CollectingInto } from '../options.ts'
import type { Depths } from '../stores/depths.ts'
import type { Federation, NamedStore } from '../stores/federation.ts'

/**
 * Messages in dead-letter queues by channel, for the store that they come to: the one they are collected into, else the
 * first. So each is counted once, however many stores there are.
 */
export async function queuesFor(
  { name }: NamedStore,
  depths: Depths,
  collectors: readonly CollectingInto[],
  stores: Federation,
): Promise<ReadonlyMap<string, number>> {
  const first = stores.all[0]?.name
  const { queues } = await depths.look()
  const byChannel = new Map<string, number>()
  for (const { broker, channel, depth } of queues) {
    const into = collectors.find(({ collector }) => collector.name === broker)?.store ?? first
    if (into !== name || depth === 0) continue
    byChannel.set(channel, (byChannel.get(channel) ?? 0) + depth)
  }
  return byChannel
}
