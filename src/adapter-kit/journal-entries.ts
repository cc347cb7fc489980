import type { LazaretError } from '../core/failure/errors.ts'
import type { EventCodec } from '../ports/codec.ts'
import { type JournalContents, type JournalEntry, JournalEntryError } from '../ports/journal.ts'

/** An entry as a journal stores it: the event is a text that only its codec reads. */
export interface StoredEntry {
  readonly id: string
  readonly event: string
  readonly sinks?: readonly string[] | undefined
  readonly job?: string | undefined
}

/** Turns a journal entry into the form that is stored. */
export function storedEntry({ event, sinks, job }: JournalEntry, codec: EventCodec): StoredEntry {
  return { id: event.id, event: codec.encode(event), sinks, job }
}

/** One entry that cannot be read must not keep the others from being sent. */
export function readEntries(
  journal: string,
  stored: readonly StoredEntry[],
  codec: EventCodec,
): JournalContents {
  const entries: JournalEntry[] = []
  const unreadable: LazaretError[] = []
  for (const { id, event, sinks, job } of stored) {
    try {
      entries.push({ event: codec.decode(event), sinks, job })
    } catch (error) {
      unreadable.push(new JournalEntryError(journal, id, error))
    }
  }
  return { entries, unreadable }
}
