import type { LazaretEvent } from '../core/event/event.ts'
import { LazaretError } from '../core/failure/errors.ts'

/** An event that is on its way, with what the next process must know to send it on. */
export interface JournalEntry {
  readonly event: LazaretEvent
  /** The sinks that do not have it yet; without a list that is all of them. */
  readonly sinks?: readonly string[] | undefined
  /** The background job on whose behalf it was tracked. */
  readonly job?: string | undefined
}

/** The entries of a journal, and the errors of entries that cannot be read. */
export interface JournalContents {
  /** In the order in which they were appended. */
  readonly entries: readonly JournalEntry[]
  /** One error for each entry that is there and cannot be read. It stays, and does not hold up the others. */
  readonly unreadable: readonly LazaretError[]
}

/**
 * Keeps critical events from the moment they are tracked until every sink has accepted them or a dead letter holds them, so
 * that no crash in between loses one. It also keeps the events that a dispatcher could not send before it closed.
 *
 * - `append` resolves when the entry is durable. If the journal has an entry of the event already, the new
 *   one replaces it if it names sinks, and otherwise changes nothing. A full journal rejects with a JournalFullError.
 * - `remove` deletes the entry of an event, and ignores an unknown id. It need not be durable at once: an entry that
 *   reappears after a crash is sent twice, and sinks must accept that.
 * - `pending` returns the entries at the time of the call. A dispatcher asks when it is created, and again after a
 *   failure until it has an answer: a rejected call changes nothing, and a later one has every entry. A process that
 *   shares a journal with a running process sends the pending events of that process a second time.
 * - `close` flushes all appended entries. Closing twice is safe.
 */
export interface Journal {
  append(entry: JournalEntry): Promise<void>
  remove(eventId: string): Promise<void>
  pending(): Promise<JournalContents>
  close?(): Promise<void>
}

/** The journal is full. It did not keep the event; it keeps the events that it has. */
export class JournalFullError extends LazaretError {
  override readonly name = 'JournalFullError'

  constructor(journal: string, maxEvents: number) {
    super(`journal ${journal}: is full (${maxEvents} events); check which sink is down, or raise maxEvents`, {
      code: 'LAZARET_JOURNAL_FULL',
      retryable: true,
    })
  }
}

/** An entry is there and cannot be read: sealed with another key, or not what was written. */
export class JournalEntryError extends LazaretError {
  override readonly name = 'JournalEntryError'
  readonly eventId: string

  constructor(journal: string, eventId: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(
      `journal ${journal}: the entry of event ${eventId} cannot be read (${why}); the entry is kept: open the journal with the key that sealed it, or remove the entry`,
      { code: 'LAZARET_JOURNAL_UNREADABLE', retryable: false, cause },
    )
    this.eventId = eventId
  }
}
