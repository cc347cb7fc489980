import { LazaretError } from '../core/failure/errors.ts'

/** There is no room for another event. It was not kept; those that are there are. */
export class JournalFullError extends LazaretError {
  override readonly name = 'JournalFullError'

  constructor(journal: string, maxEvents: number) {
    super(
      `journal ${journal}: holds ${maxEvents} events, which is all it may; see which sink is down, or raise maxEvents`,
      { code: 'LAZARET_JOURNAL_FULL', retryable: true },
    )
  }
}

/** An entry is there and cannot be read: sealed with another key, or not what was written. */
export class JournalEntryError extends LazaretError {
  override readonly name = 'JournalEntryError'
  readonly eventId: string

  constructor(journal: string, eventId: string, cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause)
    super(
      `journal ${journal}: the entry of event ${eventId} cannot be read (${why}); it stays: open the journal with the key it was sealed with, or remove it`,
      { code: 'LAZARET_JOURNAL_UNREADABLE', retryable: false, cause },
    )
    this.eventId = eventId
  }
}
