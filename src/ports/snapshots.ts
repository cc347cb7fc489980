/** One cause among those of a channel's waiting letters. */
export interface ErrorShare {
  readonly fingerprint: string
  readonly name: string
  readonly count: number
}

/** How a channel's dead letters stood at one moment (K7). */
export interface ChannelSnapshot {
  readonly v: 1
  readonly at: number
  readonly channel: string
  /** What waits for someone: dead, quarantined or parked letters, and messages in dead-letter queues that are no letters yet. */
  readonly depth: number
  /** When the one that waits longest failed. */
  readonly oldestAt?: number | undefined
  /** How many wait for longer than the limit on their age. */
  readonly overAge: number
  /** Of those looked at, the attempts made beyond the first, on average. */
  readonly averageRetries: number
  /** How many letters the average and the errors were taken from: the newest, when there are very many. */
  readonly sampled: number
  /** The most frequent first; a few, and not all. */
  readonly errors: readonly ErrorShare[]
}

export interface SnapshotQuery {
  readonly channel?: string | undefined
  /** Taken at or after, before: epoch milliseconds. */
  readonly after?: number | undefined
  readonly before?: number | undefined
  /** Of every channel, the newest so many. */
  readonly perChannel?: number | undefined
}

/**
 * Where channels stood, over time.
 *
 * - `append` resolves when all of them are durable. A channel has one snapshot of one moment: appending it again
 *   replaces it, so a repeated append changes nothing.
 * - `list` is by channel, then newest first.
 * - `purge` deletes those taken before a time, and answers how many.
 */
export interface Snapshots {
  append(snapshots: readonly ChannelSnapshot[]): Promise<void>
  list(query?: SnapshotQuery): Promise<readonly ChannelSnapshot[]>
  purge(before: number): Promise<number>
}
