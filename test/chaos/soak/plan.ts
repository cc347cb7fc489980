export const STORES = ['postgres', 'redis', 'sqlite', 'file', 'rabbitmq', 'kafka', 'nats'] as const
export type StoreName = (typeof STORES)[number]

/**
 * What can go wrong with a store. A server has all three. SQLite hangs while another process holds its file, and it is
 * killed when its file is moved away and back. A folder of files can only be moved away and back.
 */
export const FAULTS = ['kill', 'cut', 'hang'] as const
export type Fault = (typeof FAULTS)[number]

export interface SoakOptions {
  readonly stores: readonly StoreName[]
  readonly seed: number
  readonly durationMs: number
  /** Events of each store: three of four go through its consumer, the fourth to the sink of its dispatcher. */
  readonly perSecond: number
  readonly sampleMs: number
  /** Between two faults of a store, on average. */
  readonly faultEveryMs: number
  /** Between two rounds of the operator, who replays, discards and deletes letters. */
  readonly operateEveryMs: number
  /** Of decided letters and of the ledger. Shorter than the warm-up, so that the sizes can be flat after it. */
  readonly retentionMs: number
}

const MINUTE_MS = 60_000

/** The long form. A short run has its faults and rounds closer together. */
export function planSoak(
  stores: readonly StoreName[],
  durationMs: number,
  perSecond: number,
  seed: number,
): SoakOptions {
  const isShort = durationMs < 10 * MINUTE_MS
  return {
    stores,
    seed,
    durationMs,
    perSecond,
    sampleMs: isShort ? Math.max(500, durationMs / 40) : 10_000,
    faultEveryMs: isShort ? durationMs / 5 : 90_000,
    operateEveryMs: isShort ? durationMs / 8 : 60_000,
    retentionMs: isShort ? durationMs / 10 : 5 * MINUTE_MS,
  }
}

/**
 * What becomes of an event.
 *
 * - `transient` fails twice and then succeeds.
 * - `permanent` fails for good until a replay sends it. `exhausted` fails at each attempt until then.
 * - `poison` fails in the same way each time, so the consumer quarantines it and the operator discards it.
 */
export type Kind = 'valid' | 'transient' | 'permanent' | 'exhausted' | 'poison'

/** Of the events of the consumer. The others are valid. */
export const CONSUMER_SHARES: Readonly<Record<Exclude<Kind, 'valid'>, number>> = {
  transient: 0.06,
  permanent: 0.02,
  exhausted: 0.01,
  poison: 0.01,
}

/** The channel of the consumer, and the one of the dispatcher. */
export const CONSUMED = 'campaign'
export const TRACKED = 'events'
export const SINK = 'collector'

/** The receiver refuses events of this type until a replay sends them. */
export const REFUSED = 'collector.refused'
export const REFUSED_SHARE = 0.02
/** The share of requests that the receiver answers with 503. */
export const UNAVAILABLE_SHARE = 0.02

/** What the process of a store measures of itself. */
export interface ProcessSample {
  /** After a forced collection. */
  readonly heapBytes: number
  readonly rssBytes: number
  readonly descriptors: number
  readonly handles: number
  /** The 99th percentile since the last sample. */
  readonly loopDelayMs: number
  readonly counts: Counts
}

export interface Counts {
  /** Accepted by the broker, or by the dispatcher. */
  readonly published: number
  /** Handled by the consumer, or taken by the sink. */
  readonly handled: number
  /** Letters that were saved, each cycle once. */
  readonly dead: number
  /** Events that have no end yet: they wait, are retried, or are letters. */
  readonly open: number
  /** Events that the dispatcher dropped. Losses of the consumer are counted at the end. */
  readonly lost: number
  readonly replayed: number
  readonly discarded: number
  readonly expired: number
  /** Runs of a handler after the event was handled. */
  readonly again: number
  /** Errors of the operator. Faults explain them. */
  readonly troubled: number
}

/** A line of the file of samples. */
export interface Sample extends Omit<ProcessSample, 'counts'>, Counts {
  readonly store: StoreName
  /** Since the start of the soak. */
  readonly atMs: number
  /** Of the files of the store; undefined while its server does not answer. */
  readonly storeBytes: number | undefined
  /** The loop delay of the process that runs the soak and uses no adapter: what the machine alone does. */
  readonly idleLoopDelayMs: number
  /** The load of the machine, over one minute. */
  readonly load: number
}

/** The other kind of line: a fault, with its duration. */
export interface FaultLine {
  readonly store: StoreName
  readonly atMs: number
  readonly fault: Fault
  readonly tookMs: number
}

/** The last line of a store. */
export interface EndLine {
  readonly store: StoreName
  readonly end: Counts & {
    /** Events without an end and without a letter. */
    readonly missing: number
    /** Events that still wait in the channel of the consumer, replayed ones included. */
    readonly left: number
    /** The ids of the first of them. */
    readonly examples: readonly string[]
    readonly letters: number
    /** Where the soak stood still, if it did. */
    readonly stuck: readonly string[]
  }
}

export type Line = Sample | FaultLine | EndLine
/** What the process of a store is told. */
export type Request = 'sample' | 'cut' | 'end'
