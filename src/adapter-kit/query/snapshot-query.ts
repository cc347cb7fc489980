// What every store means by a query for snapshots.
import { MAX_TIME_MS } from '../../core/event/uuid.ts'
import { resolveBy, resolveOptions } from '../../core/options/resolve.ts'
import { integer, number, optional, text, withDefault } from '../../core/options/rules.ts'
import type { ChannelSnapshot, SnapshotQuery } from '../../ports/snapshots.ts'

const DEFAULT_SNAPSHOTS_PER_CHANNEL = 10
const MAX_SNAPSHOTS_PER_CHANNEL = 10_000
/** No snapshot is taken before the one, or at the other. */
export const EARLIEST = 0
export const NEVER: number = MAX_TIME_MS + 1

const queryRules = {
  channel: optional(text()),
  after: withDefault(number(), EARLIEST),
  before: withDefault(number(), NEVER),
  perChannel: withDefault(integer({ min: 1, max: MAX_SNAPSHOTS_PER_CHANNEL }), DEFAULT_SNAPSHOTS_PER_CHANNEL),
}

/** A query whose bounds are times that a snapshot can have. */
export interface ResolvedSnapshotQuery {
  readonly channel: string | undefined
  readonly after: number
  readonly before: number
  readonly perChannel: number
}

/** Checks a snapshot query and fills in its defaults. It throws OptionsError. */
export function resolveSnapshotQuery(query: SnapshotQuery | undefined): ResolvedSnapshotQuery {
  const { after, before, ...rest } = resolveOptions('query', queryRules, query)
  return { ...rest, after: boundOf(after), before: boundOf(before) }
}

/** The time that a purge was given, as a bound. */
export function resolvePurge(before: number): number {
  return boundOf(resolveBy('before', number(), before))
}

/** Snapshots have whole milliseconds, so that the next whole one is the same bound. */
function boundOf(ms: number): number {
  return Math.min(NEVER, Math.max(EARLIEST, Math.ceil(ms)))
}

/** Which of these a query asks for, for stores that have them all at hand. */
export function selectSnapshots(
  all: Iterable<ChannelSnapshot>,
  query: SnapshotQuery | undefined,
): readonly ChannelSnapshot[] {
  const { channel, after, before, perChannel } = resolveSnapshotQuery(query)
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
