import { resolveOptions } from '../../../core/options/resolve.ts'
import { integer, withDefault } from '../../../core/options/rules.ts'
import {
  type Journal,
  type JournalContents,
  type JournalEntry,
  JournalFullError,
} from '../../../ports/journal.ts'

/** Options of `memoryJournal()`. */
export interface MemoryJournalOptions {
  /** The most events that the journal accepts [no limit]. It refuses more. */
  readonly maxEvents?: number | undefined
}

const rules = { maxEvents: withDefault(integer({ min: 1 }), Number.MAX_SAFE_INTEGER) }

/** Creates a journal without a file, for tests. Give it to the next dispatcher to simulate a restart of the process. */
export function memoryJournal(options: MemoryJournalOptions = {}): MemoryJournal {
  return new MemoryJournal(resolveOptions('memoryJournal', rules, options).maxEvents)
}

/** It stays usable after `close`, because in tests it is the part that outlives its process. */
export class MemoryJournal implements Journal {
  /** A map keeps the order of arrival. */
  readonly #entries = new Map<string, JournalEntry>()
  readonly #maxEvents: number

  constructor(maxEvents = Number.MAX_SAFE_INTEGER) {
    this.#maxEvents = maxEvents
  }

  get size(): number {
    return this.#entries.size
  }

  async append(entry: JournalEntry): Promise<void> {
    const { event, sinks } = entry
    const isKnown = this.#entries.has(event.id)
    if (isKnown && sinks === undefined) return
    if (!isKnown && this.size >= this.#maxEvents) throw new JournalFullError('in memory', this.#maxEvents)
    this.#entries.delete(event.id)
    this.#entries.set(event.id, entry)
  }

  async remove(eventId: string): Promise<void> {
    this.#entries.delete(eventId)
  }

  async pending(): Promise<JournalContents> {
    return { entries: [...this.#entries.values()], unreadable: [] }
  }

  async close(): Promise<void> {}
}
