import { readEntries, type StoredEntry, storedEntry } from '../../../adapter-kit/journal-entries.ts'
import { isPlainObject } from '../../../core/event/plain.ts'
import { type Resolved, resolveOptions } from '../../../core/options/resolve.ts'
import { integer, withDefault } from '../../../core/options/rules.ts'
import type { EventCodec } from '../../../ports/codec.ts'
import {
  type Journal,
  type JournalContents,
  type JournalEntry,
  JournalFullError,
} from '../../../ports/journal.ts'
import { StoreClosedError } from '../../../ports/store.ts'
import { LinesDamagedError } from '../errors.ts'
import { Lazy } from '../lazy.ts'
import { type JournalOptions, journalRules, journalSettings } from '../options.ts'
import type { Decision } from './commits.ts'
import { Compaction } from './compaction.ts'
import { EventRemovals, NOTHING } from './event-removals.ts'
import { type Files, realFiles } from './files.ts'
import { type Journal as Lines, openJournal } from './journal.ts'
import type { JournalRecord } from './line.ts'
import { LineIndex, PUT } from './line-index.ts'
import type { Put } from './segment-rows.ts'
import { jsonOf, UnreadableError } from './segment-set.ts'
import { type FileUsage, usageOf } from './usage.ts'

/** The default of the option `maxEvents`. */
export const DEFAULT_MAX_JOURNAL_EVENTS = 1_000_000

/** Options of `fileJournal()`. */
export interface FileJournalOptions extends JournalOptions {
  /** The most events that the journal accepts [1 000 000]. It refuses more. */
  readonly maxEvents?: number | undefined
}

export const eventJournalRules = {
  ...journalRules,
  maxEvents: withDefault(integer({ min: 1 }), DEFAULT_MAX_JOURNAL_EVENTS),
}

/** Creates a dispatcher's journal of critical and unsent events. It needs its own folder. */
export function fileJournal(options: FileJournalOptions): FileJournal {
  return new FileJournal(resolveOptions('fileJournal', eventJournalRules, options))
}

type EventIndex = LineIndex<null>

interface Opened {
  readonly lines: Lines
  readonly index: EventIndex
  readonly compaction: Compaction
  readonly removals: EventRemovals
}

/** The journal that `fileJournal()` makes. */
export class FileJournal implements Journal {
  readonly #codec: EventCodec
  readonly #opened: Lazy<Opened>
  readonly #dir: string
  readonly #maxEvents: number

  constructor(options: Resolved<typeof eventJournalRules>, files: Files = realFiles) {
    this.#codec = options.codec.events
    this.#dir = options.dir
    this.#maxEvents = options.maxEvents
    const settings = journalSettings(options, files, 'events')
    this.#opened = new Lazy(
      async () => {
        let compaction: Compaction | undefined
        const index: EventIndex = new LineIndex({ readPut, onClosed: () => compaction?.start() })
        const lines = await openJournal(settings, index)
        compaction = new Compaction(lines, index)
        await compaction.removeLeftovers()
        return { lines, index, compaction, removals: new EventRemovals(lines, index, compaction) }
      },
      async ({ lines, compaction, removals }) => {
        await removals.close()
        await compaction.stop()
        await lines.close()
      },
      () => new StoreClosedError(`journal in ${options.dir}`),
    )
  }

  async append(entry: JournalEntry): Promise<void> {
    const { lines, index, removals } = await this.#opened.open()
    const text = JSON.stringify(storedEntry(entry, this.#codec))
    try {
      await lines.decide(() => this.#put(index, removals, entry, text))
    } finally {
      removals.retry()
    }
  }

  /**
   * The removal is lazy: it joins the next write, and is tried again if that write fails. After a crash an event whose removal is
   * missing is sent twice.
   */
  async remove(eventId: string): Promise<void> {
    const { removals } = await this.#opened.open()
    removals.remove(eventId)
  }

  async pending(): Promise<JournalContents> {
    const { lines, index, removals } = await this.#opened.open()
    await lines.refresh()
    let leaving = removals.leaving
    const records = await lines.read(() => {
      // Copies the state at this moment. Otherwise an entry that is removed during the read would count as present.
      leaving = new Set(removals.leaving)
      return index.locations
    })
    const stored = records
      .map(({ text }) => JSON.parse(text) as StoredEntry)
      .filter(({ id }) => !leaving.has(id))
    const { entries, unreadable } = readEntries(`in ${this.#dir}`, stored, this.#codec)
    const damaged = lines.damage.files.map(file => new LinesDamagedError(file.path, file.damaged))
    return { entries, unreadable: [...unreadable, ...damaged] }
  }

  /** The number of events in the journal. */
  async size(): Promise<number> {
    const { lines, removals } = await this.#opened.open()
    await lines.refresh()
    return removals.size
  }

  async usage(): Promise<FileUsage> {
    const { lines } = await this.#opened.open()
    await lines.refresh()
    return usageOf(lines)
  }

  async close(): Promise<void> {
    await this.#opened.close()
  }

  #put(
    index: EventIndex,
    removals: EventRemovals,
    { event, sinks }: JournalEntry,
    text: string,
  ): Decision<void> {
    const isKnown = removals.isKept(event.id)
    if (isKnown && sinks === undefined) return NOTHING
    if (!isKnown && removals.countWithArriving >= this.#maxEvents)
      throw new JournalFullError(`in ${this.#dir}`, this.#maxEvents)
    const { written, failed } = removals.put(event.id)
    return {
      records: [{ kind: PUT, text }],
      written: ([location]) => {
        written()
        index.put(putOf(event.id), location!)
      },
      failed,
    }
  }
}

/** A `put` line has the id of the event. The index needs no times here. */
function readPut(record: JournalRecord): Put<null> {
  const value = jsonOf(record)
  const { id, event } = isPlainObject(value) ? value : {}
  if (typeof id !== 'string' || typeof event !== 'string') throw new UnreadableError('no entry of an event')
  return putOf(id)
}

function putOf(id: string): Put<null> {
  return { id, kind: null, firstFailedAt: 0, lastFailedAt: 0, updatedAt: 0, expiresAt: 0 }
}
