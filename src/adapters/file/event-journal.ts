import type { LazaretEvent } from '../../core/event/event.ts'
import { type Resolved, resolveOptions } from '../../core/options/resolve.ts'
import type { Journal } from '../../ports/journal.ts'
import type { EventCodec } from '../../ports/letter-codec.ts'
import { StoreClosedError } from '../../ports/store-errors.ts'
import { Door } from './door.ts'
import { EventTable } from './event-table.ts'
import { Compaction } from './journal/compaction.ts'
import { decide } from './journal/decide.ts'
import { type Files, realFiles } from './journal/files.ts'
import { type Journal as Lines, openJournal } from './journal/journal.ts'
import { type JournalOptions, journalRules, journalSettings } from './options.ts'

export type FileJournalOptions = JournalOptions

/** The dispatcher's journal of critical events, in a folder of its own. */
export function fileJournal(options: FileJournalOptions): FileJournal {
  return new FileJournal(resolveOptions('fileJournal', journalRules, options))
}

interface Opened {
  readonly lines: Lines
  readonly table: EventTable
  readonly compaction: Compaction
}

export class FileJournal implements Journal {
  readonly #codec: EventCodec
  readonly #door: Door<Opened>

  constructor(options: Resolved<typeof journalRules>, files: Files = realFiles) {
    this.#codec = options.codec.events
    const settings = journalSettings(options, files, 'events')
    this.#door = new Door(
      async () => {
        let compaction: Compaction | undefined
        const table = new EventTable(() => compaction?.start())
        const lines = await openJournal(settings, table)
        compaction = new Compaction(lines, table)
        return { lines, table, compaction }
      },
      async ({ lines, compaction }) => {
        await compaction.stop()
        await lines.close()
      },
      () => new StoreClosedError(`journal in ${options.dir}`),
    )
  }

  async append(event: LazaretEvent): Promise<void> {
    const { lines, table } = await this.#door.enter()
    const record = { kind: 'put', text: JSON.stringify({ id: event.id, event: this.#codec.encode(event) }) }
    await decide(lines, () => {
      if (table.has(event.id)) return { records: [], written: () => {} }
      return { records: [record], written: ([place]) => table.put(event.id, place!) }
    })
  }

  /** Lazily: it goes with the next event, and one that is found again after a crash is sent twice. */
  async remove(eventId: string): Promise<void> {
    const { lines, table } = await this.#door.enter()
    const record = { kind: 'delete', text: JSON.stringify([eventId]) }
    const removed = decide(
      lines,
      () => {
        if (!table.has(eventId)) return { records: [], written: () => {} }
        return { records: [record], written: () => table.remove(eventId) }
      },
      true,
    )
    removed.catch(() => {})
  }

  async pending(): Promise<readonly LazaretEvent[]> {
    const { lines, table } = await this.#door.enter()
    await lines.refresh()
    const records = await lines.read(() => table.all)
    return records.map(({ text }) => this.#codec.decode((JSON.parse(text) as { event: string }).event))
  }

  async close(): Promise<void> {
    await this.#door.close()
  }
}
