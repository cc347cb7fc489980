import type { LazaretEvent } from '../../core/event/event.ts'
import type { Journal } from '../../ports/journal.ts'

/** A journal without a file, for tests: hand it to the next dispatcher and it is as if the process had come back. */
export function memoryJournal(): MemoryJournal {
  return new MemoryJournal()
}

/** It stays usable after `close`, because in tests it is the part that outlives its process. */
export class MemoryJournal implements Journal {
  /** In the order of arrival, which is what a map keeps. */
  readonly #events = new Map<string, LazaretEvent>()

  get size(): number {
    return this.#events.size
  }

  async append(event: LazaretEvent): Promise<void> {
    if (!this.#events.has(event.id)) this.#events.set(event.id, event)
  }

  async remove(eventId: string): Promise<void> {
    this.#events.delete(eventId)
  }

  async pending(): Promise<readonly LazaretEvent[]> {
    return [...this.#events.values()]
  }

  async close(): Promise<void> {}
}
