import { type Files, readWhole } from '../journal/files.ts'
import type { JournalRecord } from '../journal/line.ts'
import type { Place, Segment } from '../journal/segment-set.ts'
import type { SegmentFolder } from '../journal/segments.ts'
import { readIndex, writeIndex } from './index-file.ts'
import type { LetterIndex } from './letter-index.ts'
import { deletedIds } from './record.ts'
import { Sheet } from './sheet.ts'
import type { Summary } from './summary.ts'

/**
 * Feeds the index, and keeps a sheet of every segment that is still being written or read, so that the sheet can be
 * laid beside the segment once that is closed.
 */
export class Sheets {
  readonly #files: Files
  readonly #folder: SegmentFolder
  readonly #index: LetterIndex
  readonly #open = new Map<number, Sheet>()
  #writing: Promise<void> = Promise.resolve()

  constructor(files: Files, folder: SegmentFolder, index: LetterIndex) {
    this.#files = files
    this.#folder = folder
    this.#index = index
  }

  put(summary: Summary, place: Place): void {
    const sheet = this.#sheetOf(place.segment)
    this.#index.take(sheet, sheet.addPut(summary, this.#index.kinds, place))
  }

  delete(record: JournalRecord, { segment }: Place): void {
    const sheet = this.#sheetOf(segment)
    for (const id of deletedIds(record)) this.#index.take(sheet, sheet.addDelete(id))
  }

  async recall({ name }: Segment, size: number): Promise<boolean> {
    try {
      const bytes = await readWhole(this.#files, this.#folder.path(name, 'index'))
      const sheet = readIndex(bytes, this.#index.kinds, size)
      if (sheet === undefined) return false
      for (let row = 0; row < sheet.rows; row++) this.#index.take(sheet, row)
      return true
    } catch {
      return false
    }
  }

  /** A segment with lines that cannot be read gets no index: each opening shall come upon them and tell. */
  closed(segment: Segment): void {
    const { number } = segment.name
    const sheet = this.#open.get(number)
    this.#open.delete(number)
    if (sheet === undefined || segment.isDamaged) return
    this.#writing = this.#writing.then(() => this.#write(segment, sheet)).catch(() => {})
  }

  /** Resolves when no index is being written. */
  settle(): Promise<void> {
    return this.#writing
  }

  /** Written whole under another name first: a reader finds all of it or none. */
  async #write({ name }: Segment, sheet: Sheet): Promise<void> {
    const size = await this.#files.sizeOf(this.#folder.path(name))
    const bytes = writeIndex(sheet, this.#index.kinds, size)
    const path = this.#folder.path(name, 'index.tmp')
    const fd = await this.#files.open(path, 'w')
    try {
      await this.#files.write(fd, bytes, 0)
    } finally {
      await this.#files.close(fd)
    }
    await this.#files.rename(path, this.#folder.path(name, 'index'))
  }

  #sheetOf(segment: number): Sheet {
    let sheet = this.#open.get(segment)
    if (sheet === undefined) {
      sheet = new Sheet()
      this.#open.set(segment, sheet)
    }
    return sheet
  }
}
