import type { LetterReplay } from '../core/dead-letter/change.ts'
import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { Reason } from '../core/dead-letter/reason.ts'
import type { Retention } from '../core/dead-letter/retention.ts'
import type { LetterState } from '../core/dead-letter/state.ts'
import type { ErrorCode } from '../core/failure/catalogue.ts'
import { LazaretError } from '../core/failure/errors.ts'
import type { Category } from '../core/failure/failure.ts'

/**
 * The writing side of dead letters.
 *
 * - `send` resolves when the letter is durable. Sending is idempotent: a letter's identity is (channel, handler, event
 *   id), and sending it again merges cycles (core/dead-letter/merge), so a repeated send changes nothing.
 * - It rejects with DeadLettersClosedError after `close`, with DeadLettersFullError when it is full; then the
 *   caller still has the event and must not acknowledge it. No letter is ever dropped to make room.
 * - It rejects with a fault of the letter (`isLetterFault`) if a letter with that id is stored and this process lacks its key: the
 *   two cannot be merged.
 * - Concurrent sends are allowed, of the same letter too.
 * - `close` flushes all letters that were sent, then resolves. Closing twice is safe.
 */
export interface DeadLetterQueue {
  send(letter: DeadLetter): Promise<void>
  close(): Promise<void>
}

/** Selects letters by their fields. A letter must match every field that is given. */
export interface LetterFilter {
  readonly channel?: string | undefined
  readonly handler?: string | undefined
  readonly type?: string | undefined
  readonly reason?: Reason | undefined
  readonly category?: Category | undefined
  readonly state?: LetterState | undefined
  /** A fingerprint's id. */
  readonly group?: string | undefined
  /** Last failed at or after, before: epoch milliseconds. */
  readonly after?: number | undefined
  readonly before?: number | undefined
  /** Text to be found in the error, the event's id, key or type, or the metadata, whatever its case. */
  readonly search?: string | undefined
  /** The release of the process that gave up. */
  readonly release?: string | undefined
  /** Text to be found in the name, the message or the code of the error, whatever its case. */
  readonly error?: string | undefined
  /** At least, at most so many attempts in the current cycle. */
  readonly minAttempts?: number | undefined
  readonly maxAttempts?: number | undefined
  /**
   * Conditions on fields of the payload, the headers or the metadata, joined by `and`:
   * `payload.customer.id = 7 and header.tenant = acme`. The operators are `=`, `!=` and `~` (contains, whatever its case).
   */
  readonly where?: string | undefined
}

/** The columns that a list of letters can be sorted by. */
export const LETTER_SORTS = [
  'lastFailed',
  'firstFailed',
  'attempts',
  'channel',
  'handler',
  'type',
  'reason',
  'category',
  'state',
  'group',
] as const
/** A column that a list of letters can be sorted by. */
export type LetterSort = (typeof LETTER_SORTS)[number]

/** The directions of a sorted list. */
export const SORT_DIRECTIONS = ['asc', 'desc'] as const

/** Selects one page of letters. */
export interface LetterQuery extends LetterFilter {
  /** The column to sort by [lastFailed]. Letters with the same value are listed by newest failure. */
  readonly sort?: LetterSort | undefined
  /** The direction [desc for times and attempts, asc for texts]. */
  readonly order?: (typeof SORT_DIRECTIONS)[number] | undefined
  /** Starts the list at this time instead of its beginning, in epoch milliseconds. Only when it is sorted by a time, and without a cursor. */
  readonly startAt?: number | undefined
  readonly limit?: number | undefined
  /** From the page before; opaque, and good for this filter and order only. */
  readonly cursor?: string | undefined
}

/** One page of letters. */
export interface LetterPage {
  readonly letters: readonly DeadLetter[]
  /** Undefined on the last page. */
  readonly cursor: string | undefined
}

/** How many letters there are of each state. */
export type LetterCounts = { readonly [S in LetterState]?: number }

/** How far letters are counted. */
export interface CountOptions {
  /** A store that would have to read every letter may stop at this many [it counts all]. */
  readonly stopAt?: number | undefined
}

/** Numbers about the letters that a filter selects. */
export interface LetterStats {
  readonly count: number
  /** True if the store stopped: more letters match than `count`, and the other counts are lower bounds. Absent if all are exact. */
  readonly atLeast?: boolean | undefined
  readonly oldestAt: number | undefined
  readonly newestAt: number | undefined
  readonly byState: LetterCounts
  readonly byReason: { readonly [R in Reason]?: number }
  readonly byChannel: { readonly [channel: string]: number }
}

/** How many letters of one handler or sink there are in a channel. */
export interface HandlerCount {
  readonly channel: string
  readonly handler: string
  readonly count: number
}

/** Equal stretches of time, one after the other, the first beginning at `from`. */
export interface TimelineSpan {
  /** Epoch milliseconds. */
  readonly from: number
  readonly bucketMs: number
  readonly buckets: number
}

/** A change of a letter's state. */
export interface LetterChange {
  readonly to: LetterState
  readonly at: number
  /** Change the letter only if it is in this state. Otherwise nothing happens and `change` returns undefined. */
  readonly from?: LetterState | undefined
  /**
   * Change the letter only if it is replaying and this replay sent it last. Otherwise nothing happens and `change` returns
   * undefined. Every change that an event causes sets this, because any publisher can write replay headers.
   */
  readonly onlyIfSentBy?: LetterReplay | undefined
  /**
   * Change the letter only if it was replayed exactly this often. Otherwise nothing happens and `change` returns undefined.
   * Every claim for a replay sets this, because a claim can reach the store after another process has replayed the letter.
   */
  readonly onlyIfReplays?: number | undefined
  /**
   * Change the letter only if its last failure is this one. Otherwise nothing happens and `change` returns undefined. Every
   * change of a frozen selection sets this, because a letter that has failed again was not selected.
   */
  readonly onlyIfLastFailedAt?: number | undefined
  readonly by?: string | undefined
  /** The replay that is about to send it; counted on the letter when `to` is `replaying`. */
  readonly replayId?: string | undefined
}

/** The version of a letter that a decision is based on. */
export interface LetterVersion {
  readonly state: LetterState
  readonly lastFailedAt: number
}

/** A letter and the version of it that a decision is based on. */
export interface SeenLetter extends LetterVersion {
  readonly id: string
}

/**
 * The operating side: what people, replays and the console do with letters.
 *
 * - `list` returns the newest failure first, and at the same time the greater id first, or sorts by the column of `sort`.
 *   adapter-kit/query/letter-order has these orders, and adapter-kit/query/letter-query the meaning of the filters. Letters that arrive
 *   while paging may or may not be seen. A letter that was there before and does not change is seen exactly once.
 * - No index has `release`, `error`, `minAttempts`, `maxAttempts` and `where`: the store reads every letter that matches the other
 *   fields, opens it if it is sealed, and compares (adapter-kit/query/examined-letters).
 * - `get`, `change` and `delete` return undefined or false for an unknown id. `delete` with the version that was `seen`
 *   returns false and deletes nothing if the letter has failed again or changed its state since.
 * - `get` and `change` reject with a fault of the letter (`isLetterFault`) if the stored letter cannot be read: it is sealed with a
 *   key that this process lacks, it is damaged, or a newer version wrote it. It stays as it is. A repeated call has the same
 *   result, so callers do not wait for it: the consumer settles the event of such a letter once it is handled, and observes
 *   `letterWriteFailed`. A store that knows the state of a letter beside its text may record the outcome of a replay there, and one
 *   that finds a damaged letter may report the damage and answer as for an unknown id.
 * - `versions` returns the version of every letter that matches, in portions and in no order, without reading the letters
 *   themselves. A letter that was there before and does not change is in exactly one portion.
 * - `deleteMany` does what `delete` does with the version that was `seen`, for many letters in one short step of the store, and
 *   returns the ids of those that it deleted. Other calls wait until the step is over, so the caller chooses how many.
 * - Where the store is a broker too, `delete` and `deleteMany` also unblock the key of the event (`unblockKey`).
 * - `change` is atomic, including its conditions `from`, `onlyIfSentBy`, `onlyIfReplays` and `onlyIfLastFailedAt`
 *   (core/dead-letter/change). It follows the legal transitions of core/dead-letter/state; an illegal one rejects with TransitionError and changes nothing.
 * - `stats` counts the letters that match the filter, in all states. Its times are those of last failures. With `stopAt`, a store
 *   may stop when more letters than that match: then `count` is `stopAt`, and `atLeast` is true. The times are exact
 *   nevertheless, and every state, reason and channel that occurs has a count.
 * - `timeline` counts the letters that match the filter by the time of their last failure: one number for each bucket of
 *   the span, oldest first, including zeros. A bucket includes its start and not its end. Letters outside do not count.
 * - `countByHandler`, where a store has it, counts the letters that match the filter by channel and handler, in no order,
 *   without zeros. The server uses it for the label `name` of `dlq_size`.
 * - `expire`, where a store has it, deletes the letters past the store's own retention (core/dead-letter/retention has the
 *   rule), writes one entry to the audit log, and returns the number of deleted letters by state. No other rule deletes a
 *   letter without a command. `retention` is that retention, so that the server can tell which letters are about to expire.
 * - After `close` all of them reject with DeadLettersClosedError.
 */
export interface DeadLetterStore extends DeadLetterQueue {
  list(query?: LetterQuery): Promise<LetterPage>
  get(id: string): Promise<DeadLetter | undefined>
  change(id: string, change: LetterChange): Promise<DeadLetter | undefined>
  delete(id: string, seen?: LetterVersion): Promise<boolean>
  deleteMany(seen: readonly SeenLetter[]): Promise<readonly string[]>
  versions(filter?: LetterFilter): AsyncIterable<readonly SeenLetter[]>
  stats(filter?: LetterFilter, options?: CountOptions): Promise<LetterStats>
  timeline(filter: LetterFilter, span: TimelineSpan): Promise<readonly number[]>
  countByHandler?(filter?: LetterFilter): Promise<readonly HandlerCount[]>
  expire?(now: number): Promise<LetterCounts>
  readonly retention?: Retention | undefined
}

/**
 * Holds letters while their store is unreachable, and moves them to the store afterwards.
 *
 * - `send` as above: durable when it resolves.
 * - `drain` sends the letters it holds, oldest first, removes each only after the target has it, and returns how many it
 *   removed. It is safe to call while letters arrive.
 * - One letter does not block the others: a letter that the target refuses, or that the spill cannot read, stays, and the
 *   drain continues with the next one. Several refusals in a row mean that the target is unreachable: then the drain ends,
 *   so that the target gets few calls. The next drain begins with letters that were not refused.
 * - `failed` receives the errors of the spill itself: letters that it could not read or remove. The target knows what it
 *   refused. `drain` rejects if the spill as a whole cannot be read.
 * - A spill holds the letters of one store: `drain` sends them to whatever target it is given.
 */
export interface Spill extends DeadLetterQueue {
  drain(target: DeadLetterQueue, failed?: (error: unknown) => void): Promise<number>
  size(): Promise<number>
}

const LETTER_FAULTS: readonly ErrorCode[] = ['LAZARET_LETTER_INVALID', 'LAZARET_SEAL_UNOPENED']

/** The time after which a broker delivers an event again whose letter cannot be saved because of such a fault. */
export const LETTER_FAULT_DELAY_MS = 5_000

/**
 * Whether the error is a permanent fault of one letter, which this process cannot read or write, and not a fault of the store.
 * Nobody repeats such a call until it succeeds, because all other letters would wait behind that one.
 */
export function isLetterFault(error: unknown): boolean {
  if (!(error instanceof LazaretError)) return false
  return (
    LETTER_FAULTS.includes(error.code) ||
    // The only fault of a letter that was sent is the one that the store found.
    (error.code === 'LAZARET_LETTER_NOT_SAVED' && isLetterFault(error.cause))
  )
}

/** The outcome of a replay could not be recorded, because this process cannot read its letter. The letter stays `replaying`. */
export class UnreadableLetterError extends LazaretError {
  override readonly name = 'UnreadableLetterError'

  constructor(letterId: string, cause: unknown) {
    super(
      `letter ${letterId}: its replay has ended, but this process cannot read the letter, which stays 'replaying'; give this process the key or the version that reads it, then decide on the letter`,
      { code: 'LAZARET_LETTER_INVALID', retryable: false, cause },
    )
  }
}

/** A call after `close`. The caller still has the event. */
export class DeadLettersClosedError extends LazaretError {
  override readonly name = 'DeadLettersClosedError'

  constructor(name: string) {
    super(
      `dead letters '${name}': closed; use them before close(), or open a new store. A consumer or dispatcher closes its store unless it has leaveOpen: true`,
      {
        code: 'LAZARET_DEAD_LETTERS_CLOSED',
        retryable: false,
      },
    )
  }
}

const DISK_FULL = 'the disk is full; free some space'

/** No room for one more letter. The caller still has the event, and no letter was dropped. */
export class DeadLettersFullError extends LazaretError {
  override readonly name = 'DeadLettersFullError'
  /** How many letters fit; undefined where it is the disk, or the memory of a server, that is full. */
  readonly capacity: number | undefined

  /** `remedy` is for a store whose room is not a disk's. */
  constructor(name: string, capacity: number | undefined, cause?: unknown, remedy: string = DISK_FULL) {
    const problem =
      capacity === undefined
        ? `${remedy}${reasonOf(cause)}`
        : `full (${capacity} letters); replay or delete letters, or raise the capacity`
    // Room can be made at any moment, and until then the event is kept where it is.
    super(`dead letters '${name}': ${problem}`, {
      code: 'LAZARET_DEAD_LETTERS_FULL',
      retryable: true,
      ...(cause === undefined ? {} : { cause }),
    })
    this.capacity = capacity
  }
}

function reasonOf(cause: unknown): string {
  return cause instanceof Error ? ` (${cause.message})` : ''
}
