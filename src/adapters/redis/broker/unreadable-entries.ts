import type { StallReporter } from '../../../adapter-kit/delivery/stalls.ts'
import { monotonicNow } from '../../../ports/clock.ts'
import { RedisError, RedisServerError } from '../errors.ts'
import type { HandlerContext } from './context.ts'
import { type EntryPlace, markOf } from './entry.ts'

/** Any connection can break while it transfers an answer. One that breaks for the same entry again and again is too small for it. */
const MAX_FAILURES = 3
const MAX_PAUSE_LEASES = 32

interface UnreadableEntry {
  readonly place: EntryPlace
  failures: number
  /** When it is read again, by the monotonic clock; undefined until it is skipped. */
  dueAt: number | undefined
}

/**
 * Entries whose answers do not arrive: an entry is too large for the output buffer that the server allows a client, or for the
 * time of a call. They are skipped and reported, so that the entries behind them are delivered, and read again after growing
 * pauses. They stay assigned to this consumer, so nothing is lost.
 */
export class UnreadableEntries {
  readonly #context: HandlerContext
  readonly #stalls: StallReporter
  readonly #entries = new Map<string, UnreadableEntry>()

  constructor(context: HandlerContext, stalls: StallReporter) {
    this.#context = context
    this.#stalls = stalls
  }

  /** The entries that are skipped, also those that are due. */
  get skipped(): readonly EntryPlace[] {
    return [...this.#entries.values()].filter(({ dueAt }) => dueAt !== undefined).map(({ place }) => place)
  }

  /** Whether one is to be read again. */
  get isOneDue(): boolean {
    return this.skipped.some(place => !this.isWaiting(place))
  }

  isWaiting(place: EntryPlace): boolean {
    const dueAt = this.#entries.get(markOf(place))?.dueAt
    return dueAt !== undefined && dueAt > monotonicNow(this.#context.settings.clock)
  }

  /** The entry could not be read. Returns whether it is skipped: if not, it is read again at once. */
  failed(place: EntryPlace, error: RedisError): boolean {
    const entry = this.#entries.get(markOf(place)) ?? { place, failures: 0, dueAt: undefined }
    this.#entries.set(markOf(place), entry)
    entry.failures += 1
    const extra = entry.failures - MAX_FAILURES
    if (extra < 0) return false
    const { clock, leaseMs, onError } = this.#context.settings
    entry.dueAt = monotonicNow(clock) + leaseMs * Math.min(MAX_PAUSE_LEASES, 2 ** extra)
    const report = this.#reportOf(place, error)
    onError(report)
    // The failed reads may have been reported, without the reason.
    if (extra === 0) this.#stalls.recovered('deliveries')
    this.#stalls.stalled('deliveries', this, report)
    return true
  }

  /** It was read, is deleted, or belongs to another consumer. */
  forget(place: EntryPlace): void {
    if (this.#entries.delete(markOf(place)) && this.skipped.length === 0)
      this.#stalls.ended('deliveries', this)
  }

  #reportOf({ side, id }: EntryPlace, { cause, message }: RedisError): RedisServerError {
    const { keys } = this.#context
    const key = keys[side]
    const forget = side === 'own' ? `, then XDEL ${key} ${id}` : ''
    return new RedisServerError(
      `did not send the whole entry ${id} of ${key} (${cause instanceof Error ? cause.message : message})`,
      `the entry is too large: raise timeoutMs, and client-output-buffer-limit of the server, or give the event up: XACK ${key} ${keys.handler} ${id}${forget}`,
    )
  }
}

/** Whether a call failed in a way in which it fails when its answer is too large. */
export function isAnswerLost(error: unknown): error is RedisError {
  return error instanceof RedisError && (error.kind === 'lost' || error.kind === 'silent')
}
