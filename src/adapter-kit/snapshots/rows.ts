// How stores that keep a channel's snapshots by its name write and read them: as rows of that name, a time and a text.

import type { ChannelSnapshot, SnapshotQuery } from '../../ports/snapshots.ts'
import { portionsOf } from '../portions.ts'
import { type ResolvedSnapshotQuery, resolveSnapshotQuery } from '../query/snapshot-query.ts'

/** The channel as `storedChannel` has it, the time, and the whole as JSON. */
export type SnapshotRow = readonly [channel: string, at: number, body: string]

/** Rows that are written, read or deleted in one step, so that others get their turn between two of them. */
export const SNAPSHOTS_AT_ONCE = 2_000

/**
 * The name as every store can hold it: not all of them have NUL and halves of surrogate pairs. Such names, and those with a
 * backslash, are written as JSON does, so that no two names become the same.
 */
function storedChannel(channel: string): string {
  const isPlain = channel.isWellFormed() && !channel.includes('\0') && !channel.includes('\\')
  return isPlain ? channel : JSON.stringify(channel).slice(1, -1)
}

export function rowOf(snapshot: ChannelSnapshot): SnapshotRow {
  return [storedChannel(snapshot.channel), snapshot.at, JSON.stringify(snapshot)]
}

interface SnapshotRows {
  /** Every channel that has a snapshot, in any order. */
  channels(): Promise<readonly string[]>
  /** The texts of these channels' snapshots, in the order of the channels and newest first. */
  bodies(channels: readonly string[], wanted: WantedRows): Promise<readonly string[]>
}

export type WantedRows = Omit<ResolvedSnapshotQuery, 'channel'>

/** A list, read in portions. */
export async function listRows(
  rows: SnapshotRows,
  query: SnapshotQuery | undefined,
): Promise<readonly ChannelSnapshot[]> {
  const { channel, ...wanted } = resolveSnapshotQuery(query)
  const channels = channel === undefined ? inOrder(await rows.channels()) : [storedChannel(channel)]
  const atOnce = Math.max(1, Math.floor(SNAPSHOTS_AT_ONCE / wanted.perChannel))
  const found: ChannelSnapshot[] = []
  for (const portion of portionsOf(channels, atOnce))
    for await (const some of newestOf(rows, portion, wanted)) found.push(...some)
  return found
}

/** One channel alone may have more than are read in one step: then the next step goes on before the oldest of the last. */
async function* newestOf(
  rows: SnapshotRows,
  channels: readonly string[],
  { after, before, perChannel }: WantedRows,
): AsyncGenerator<readonly ChannelSnapshot[]> {
  for (let left = perChannel, bound = before; left > 0; ) {
    const most = Math.min(left, SNAPSHOTS_AT_ONCE)
    const bodies = await rows.bodies(channels, { after, before: bound, perChannel: most })
    const snapshots = bodies.map((body): ChannelSnapshot => JSON.parse(body))
    yield snapshots
    bound = snapshots.at(-1)?.at ?? bound
    left = snapshots.length < most ? 0 : left - most
  }
}

/** Deletes a portion at a time until one is not full. */
export async function purgeRows(purge: (most: number) => Promise<number>): Promise<number> {
  for (let deleted = 0; ; ) {
    const some = await purge(SNAPSHOTS_AT_ONCE)
    deleted += some
    if (some < SNAPSHOTS_AT_ONCE) return deleted
  }
}

function inOrder(stored: readonly string[]): readonly string[] {
  const named = stored.map(name => ({ name, channel: channelOf(name) }))
  return named.sort((a, b) => (a.channel < b.channel ? -1 : 1)).map(({ name }) => name)
}

function channelOf(stored: string): string {
  return stored.includes('\\') ? JSON.parse(`"${stored}"`) : stored
}
