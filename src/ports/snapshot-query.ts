// What every store means by a query for snapshots.
import { resolveOptions } from '../core/options/resolve.ts'
import { integer, number, optional, text } from '../core/options/rules.ts'
import type { ChannelSnapshot, SnapshotQuery } from './snapshots.ts'

export const DEFAULT_SNAPSHOTS_PER_CHANNEL = 10
export const MOST_SNAPSHOTS_PER_CHANNEL = 10_000

const queryRules = {
  channel: optional(text()),
  after: optional(number()),
  before: optional(number()),
  perChannel: optional(integer({ min: 1, max: MOST_SNAPSHOTS_PER_CHANNEL })),
}

export function resolveSnapshotQuery(query: SnapshotQuery | undefined) {
  const { perChannel = DEFAULT_SNAPSHOTS_PER_CHANNEL, ...rest } = resolveOptions('query', queryRules, query)
  return { perChannel, ...rest }
}

/** Which of these a query asks for, for stores that have them all at hand. */
export function selectSnapshots(
  all: Iterable<ChannelSnapshot>,
  query: SnapshotQuery | undefined,
): readonly ChannelSnapshot[] {
  const {
    channel,
    after = Number.NEGATIVE_INFINITY,
    before = Number.POSITIVE_INFINITY,
    perChannel,
  } = resolveSnapshotQuery(query)
  const byChannel = new Map<string, ChannelSnapshot[]>()
  for (const snapshot of all) {
    if ((channel ?? snapshot.channel) !== snapshot.channel) continue
    if (snapshot.at < after || snapshot.at >= before) continue
    const found = byChannel.get(snapshot.channel)
    if (found === undefined) byChannel.set(snapshot.channel, [snapshot])
    else found.push(snapshot)
  }
  return [...byChannel]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, snapshots]) => snapshots.sort((a, b) => b.at - a.at).slice(0, perChannel))
}
