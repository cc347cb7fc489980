import { type Resolved, resolveOptions } from '../../core/options/resolve.ts'
import { integer, withDefault } from '../../core/options/rules.ts'
import type { Journal, JournalContents, JournalEntry } from '../../ports/journal.ts'
import { readEntries, type StoredEntry, storedEntry } from '../../ports/journal-contents.ts'
import { JournalFullError } from '../../ports/journal-errors.ts'
import type { EventCodec } from '../../ports/letter-codec.ts'
import { StoreClosedError } from '../../ports/store-errors.ts'
import { Door } from './door.ts'
import { EventTable } from './event-table.ts'
import { Compaction } from './journal/compaction.ts'
import { type Decision, decide } from './journal/decide.ts'
import { type Files, realFiles } from './journal/files.ts'
import { type Journal as Lines, openJournal } from './journal/journal.ts'
import { type JournalOptions, journalRules, journalSettings } from './options.ts'

export const DEFAULT_MAX_JOURNAL_EVENTS = 1_000_000

export interface FileJournalOptions extends JournalOptions {
  /** Events it takes; one more is refused [1 000 000]. */
  readonly maxEvents?: number | undefined
}

const rules = {
  ...journalRules,
  maxEvents: withDefault(integer({ min: 1 }), DEFAULT_MAX_JOURNAL_EVENTS),
}

/** The dispatcher's journal of events that are on their way, in a folder of its own. */
export function fileJournal(options: FileJournalOptions): FileJournal {
  return new FileJournal(resolveOptions('fileJournal', rules, options))
}

interface Opened {
  readonly lines: Lines
  readonly table: EventTable
  readonly compaction: Compaction
}

const NOTHING: Decision<void> = Object.freeze({ records: [], written: () => {} })

export class FileJournal implements Journal {
  readonly #codec: EventCodec
  readonly #door: Door<Opened>
  readonly #dir: string
  readonly #maxEvents: number
  /** Decided and not written yet: they take room already. */
  #underWay = 0
  /** Removed, and in no hurry to be written so. */
  readonly #leaving = new Set<string>()

  constructor(options: Resolved<typeof rules>, files: Files = realFiles) {
    this.#codec = options.codec.events
    this.#dir = options.dir
    this.#maxEvents = options.maxEvents
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

  async append(entry: JournalEntry): Promise<void> {
    const { lines, table } = await this.#door.enter()
    const text = JSON.stringify(storedEntry(entry, this.#codec))
    await decide(lines, () => this.#put(table, entry, text))
  }

  /** Lazily: it goes with the next event, and one that is found again after a crash is sent twice. */
  async remove(eventId: string): Promise<void> {
    const { lines, table } = await this.#door.enter()
    if (!this.#holds(table, eventId)) return
    this.#leaving.add(eventId)
    const record = { kind: 'delete', text: JSON.stringify([eventId]) }
    const removed = decide(lines, () => ({ records: [record], written: () => table.remove(eventId) }), true)
    removed.catch(() => {}).finally(() => this.#leaving.delete(eventId))
  }

  async pending(): Promise<JournalContents> {
    const { lines, table } = await this.#door.enter()
    await lines.refresh()
    let leaving: ReadonlySet<string> = this.#leaving
    const records = await lines.read(() => {
      // As it is at this moment: what is gone by the time it was read would look as if it stayed.
      leaving = new Set(this.#leaving)
      return table.all
    })
    const stored = records
      .map(({ text }) => JSON.parse(text) as StoredEntry)
      .filter(({ id }) => !leaving.has(id))
    return readEntries(`in ${this.#dir}`, stored, this.#codec)
  }

  async close(): Promise<void> {
    await this.#door.close()
  }

  #holds(table: EventTable, id: string): boolean {
    return table.has(id) && !this.#leaving.has(id)
  }

  #put(table: EventTable, { event, sinks }: JournalEntry, text: string): Decision<void> {
    const isKnown = this.#holds(table, event.id)
    if (isKnown && sinks === undefined) return NOTHING
    if (!isKnown && table.size - this.#leaving.size + this.#underWay >= this.#maxEvents)
      throw new JournalFullError(`in ${this.#dir}`, this.#maxEvents)
    const leave = () => {
      if (!isKnown) this.#underWay--
    }
    if (!isKnown) this.#underWay++
    return {
      records: [{ kind: 'put', text }],
      written: ([place]) => {
        leave()
        table.put(event.id, place!)
      },
      failed: leave,
    }
  }
}
