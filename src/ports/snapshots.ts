/** One cause among those of a channel's waiting letters. */
export interface ErrorShare {
  readonly fingerprint: string
  readonly name: string
  readonly count: number
}

/** How a channel's dead letters stood at one moment (K7). */
export interface ChannelSnapshot {
  readonly v: 1
  /** Epoch milliseconds, whole. */
  readonly at: number
  /** Any name of 1 to 1 000 characters; queues of others are channels too, whatever they are called. */
  readonly channel: string
  /**
   * Letters that wait for a person: dead, quarantined or parked, and messages in dead-letter queues that are not
   * letters yet.
   */
  readonly depth: number
  /** When the one that waits longest failed. */
  readonly oldestAt?: number | undefined
  /** How many wait for longer than the limit on their age. */
  readonly overAge: number
  /** Letters that failed within the hour before, whatever became of them; only where a limit needs the number. */
  readonly failedInLastHour?: number | undefined
  /** Of those looked at, the attempts made beyond the first, on average. */
  readonly averageRetries: number
  /** How many letters the average and the errors were taken from: the newest, when there are very many. */
  readonly sampled: number
  /** The most frequent first; a few, and not all: at most 100. */
  readonly errors: readonly ErrorShare[]
}

/** Selects snapshots by channel and time. */
export interface SnapshotQuery {
  readonly channel?: string | undefined
  /** Taken at or after, before: epoch milliseconds. */
  readonly after?: number | undefined
  readonly before?: number | undefined
  /** Of every channel, the newest so many [10, at most 10 000]. */
  readonly perChannel?: number | undefined
}

/**
 * Where channels stood, over time.
 *
 * - `append` resolves when all of them are durable. A channel has one snapshot of one moment: appending it again
 *   replaces it, so a repeated append changes nothing; of two in one append the last counts. When it rejects, some may
 *   be kept: append all of them again. An invalid snapshot is refused with an OptionsError, and then none is kept.
 * - `list` is by channel, as JavaScript compares texts, then newest first. A channel is found by its exact name. An
 *   unknown channel, or one without a snapshot in the time range, has none. Snapshots that are appended or purged
 *   meanwhile may be in the answer or not. A query that means nothing is refused with an OptionsError.
 * - `purge` deletes those taken before a time, of all channels, and answers how many. Nothing else ever deletes one:
 *   the code that appends snapshots also purges them.
 * - After the store was closed all three reject with a StoreClosedError.
 */
export interface Snapshots {
  append(snapshots: readonly ChannelSnapshot[]): Promise<void>
  list(query?: SnapshotQuery): Promise<readonly ChannelSnapshot[]>
  purge(before: number): Promise<number>
}
