import { DeadLettersClosedError, DeadLettersFullError } from '../../../ports/dead-letters.ts'
import { isDiskFull } from '../errors.ts'
import { Compaction } from '../journal/compaction.ts'
import type { Files } from '../journal/files.ts'
import { IndexFiles } from '../journal/index-files.ts'
import { openJournal } from '../journal/journal.ts'
import { LineIndex } from '../journal/line-index.ts'
import { SegmentFolder } from '../journal/segments.ts'
import { Lazy } from '../lazy.ts'
import { type JournalChoices, journalSettings } from '../options.ts'
import { LetterLog } from './letter-log.ts'
import { type Kind, peekLetter, putOf } from './record.ts'

export interface OpenedLog {
  readonly log: LetterLog
  readonly compaction: Compaction
  readonly indexFiles: IndexFiles<Kind>
}

/** A log of letters that is opened at its first use. It throws the errors of the dead-letter ports. */
export class LazyLetterLog {
  readonly #name: string
  readonly #opened: Lazy<OpenedLog>

  constructor(name: string, choices: JournalChoices, files: Files, capacity = Number.POSITIVE_INFINITY) {
    this.#name = name
    this.#opened = new Lazy(
      () => openLog(name, choices, files, capacity),
      closeLog,
      () => new DeadLettersClosedError(name),
    )
  }

  /** Returns the log with everything that other processes have written. */
  async read(): Promise<OpenedLog> {
    const opened = await this.#opened.open()
    await opened.log.journal.refresh()
    return opened
  }

  /** Does not await an open log, because a burst can send ten thousand letters. */
  async write<T>(work: (log: LetterLog) => Promise<T>): Promise<T> {
    try {
      const { log } = this.#opened.opened ?? (await this.#opened.open())
      return await work(log)
    } catch (error) {
      throw isDiskFull(error) ? new DeadLettersFullError(this.#name, undefined, error) : error
    }
  }

  close(): Promise<void> {
    return this.#opened.close()
  }
}

async function openLog(
  name: string,
  choices: JournalChoices,
  files: Files,
  capacity: number,
): Promise<OpenedLog> {
  const settings = journalSettings(choices, files, 'letters')
  const codec = choices.codec.letters
  let compaction: Compaction | undefined
  const indexFiles = new IndexFiles<Kind>(files, new SegmentFolder(files, settings.dir, settings.prefix))
  const index = new LineIndex<Kind>({
    readPut: record => putOf(peekLetter(record, codec)),
    onClosed: () => compaction?.start(),
    indexFiles,
  })
  const journal = await openJournal(settings, index)
  compaction = new Compaction(journal, index)
  await compaction.removeLeftovers()
  return { log: new LetterLog(journal, index, codec, name, capacity), compaction, indexFiles }
}

async function closeLog({ log, compaction, indexFiles }: OpenedLog): Promise<void> {
  await compaction.stop()
  await log.close()
  await indexFiles.settle()
}
