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
  /** The last failure of the letter that has waited longest. */
  readonly oldestAt?: number | undefined
  /** The number of letters that have waited longer than the age limit. */
  readonly overAge: number
  /** The number of letters that failed within the hour before, in any state. Absent unless a limit needs it. */
  readonly failedInLastHour?: number | undefined
  /** The average number of retries of the sampled letters. */
  readonly averageRetries: number
  /** The number of letters in the sample of `averageRetries` and `errors`: the newest, if there are very many. */
  readonly sampled: number
  /** The most frequent errors first, at most 100. */
  readonly errors: readonly ErrorShare[]
}

/** Selects snapshots by channel and time. */
export interface SnapshotQuery {
  readonly channel?: string | undefined
  /** Taken at or after, before: epoch milliseconds. */
  readonly after?: number | undefined
  readonly before?: number | undefined
  /** The number of newest snapshots of each channel [10, at most 10 000]. */
  readonly perChannel?: number | undefined
}

/**
 * Keeps the state of channels over time.
 *
 * - `append` resolves when all of them are durable. A channel has one snapshot of one moment: appending it again
 *   replaces it, so a repeated append changes nothing. If one append has two, the last one counts. When it rejects, it may
 *   have kept some: append all of them again. It refuses an invalid snapshot with an OptionsError, and then keeps none.
 * - `list` is by channel, as JavaScript compares texts, then newest first. A channel is found by its exact name. An
 *   unknown channel, or one without a snapshot in the time range, has none. Snapshots that are appended or purged
 *   meanwhile may be in the answer or not. A query that means nothing is refused with an OptionsError.
 * - `purge` deletes the snapshots of all channels from before a time, and returns their number. Nothing else deletes one:
 *   the code that appends snapshots also purges them.
 * - After the store was closed all three reject with a StoreClosedError.
 */
export interface Snapshots {
  append(snapshots: readonly ChannelSnapshot[]): Promise<void>
  list(query?: SnapshotQuery): Promise<readonly ChannelSnapshot[]>
  purge(before: number): Promise<number>
}
