import type { LetterCodec } from '../../../ports/letter-codec.ts'
import type { JournalSettings } from '../journal/journal.ts'
import type { JournalRecord } from '../journal/line.ts'
import type { JournalUser, Place, Segment } from '../journal/segment-set.ts'
import { SegmentFolder } from '../journal/segments.ts'
import { LetterIndex } from './letter-index.ts'
import { DELETE, glanceAt, PUT } from './record.ts'
import { Sheets } from './sheets.ts'
import { summaryOf } from './summary.ts'

/** What the records of a journal of letters mean: each letter is its latest `put`, unless a `delete` came after it. */
export class LetterTable implements JournalUser {
  readonly #settings: JournalSettings & { readonly codec: LetterCodec }
  readonly #onClosed: () => void
  #index: LetterIndex
  #sheets: Sheets

  constructor(settings: JournalSettings & { readonly codec: LetterCodec }, onClosed: () => void) {
    this.#settings = settings
    this.#onClosed = onClosed
    this.#index = new LetterIndex()
    this.#sheets = this.#newSheets()
  }

  /** Another one after everything was read anew: ask for it each time. */
  get index(): LetterIndex {
    return this.#index
  }

  /** A kind that a later version writes is left as it is. */
  apply(record: JournalRecord, place: Place): void {
    if (record.kind === PUT) this.#sheets.put(summaryOf(glanceAt(record, this.#settings.codec)), place)
    if (record.kind === DELETE) this.#sheets.delete(record, place)
  }

  put(...[summary, place]: Parameters<Sheets['put']>): void {
    this.#sheets.put(summary, place)
  }

  reset(): void {
    this.#index = new LetterIndex()
    this.#sheets = this.#newSheets()
  }

  async recall(segment: Segment, size: number): Promise<boolean> {
    const isKnown = await this.#sheets.recall(segment, size)
    // Segment by segment, so that a million letters are not put in order all at once.
    this.#index.sort()
    return isKnown
  }

  closed(segment: Segment): void {
    this.#index.sort()
    this.#sheets.closed(segment)
    this.#onClosed()
  }

  settle(): Promise<void> {
    return this.#sheets.settle()
  }

  #newSheets(): Sheets {
    const { files, dir, prefix } = this.#settings
    return new Sheets(files, new SegmentFolder(files, dir, prefix), this.#index)
  }
}
