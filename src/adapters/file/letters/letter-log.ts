import { encodeLetter } from '../../../core/dead-letter/json.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { mergeLetter } from '../../../core/dead-letter/merge.ts'
import type { LetterCodec } from '../../../ports/codec.ts'
import { DeadLettersFullError } from '../../../ports/dead-letters.ts'
import type { Decision } from '../journal/commits.ts'
import type { Journal } from '../journal/journal.ts'
import type { JournalRecord } from '../journal/line.ts'
import { type FileRange, MAX_REREADS, readRanges } from '../journal/read-ranges.ts'
import type { LineLocation } from '../journal/segment-rows.ts'
import { UnreadableError } from '../journal/segment-set.ts'
import { EventLoopQuota } from './event-loop-quota.ts'
import { deleteRecord, type LetterFacts, type LetterIndex, letterOf, putOf, putRecord } from './record.ts'

/** The letters that are encoded in one turn of the event loop. They take about a millisecond. */
const ENCODED_PER_TURN = 128

/**
 * The letters in a journal. Every change is decided under the lock of the journal, with the durable letters and the
 * changes of the write in progress. So no change, in this or another process, starts from an outdated letter.
 */
export class LetterLog {
  readonly journal: Journal
  readonly index: LetterIndex
  readonly codec: LetterCodec
  readonly #name: string
  readonly #capacity: number
  readonly #quota = new EventLoopQuota(ENCODED_PER_TURN)
  /** The letters of writes in progress. The index gets them when they are durable. */
  readonly #unwritten = new Map<string, Unwritten>()
  /** The number of those letters that are new to the index. */
  #arriving = 0

  /** The log accepts letters up to the capacity; Infinity means no limit. */
  constructor(journal: Journal, index: LetterIndex, codec: LetterCodec, name: string, capacity: number) {
    this.journal = journal
    this.index = index
    this.codec = codec
    this.#name = name
    this.#capacity = capacity
  }

  send(letter: DeadLetter): Promise<void> {
    const turn = this.#quota.take()
    return turn === undefined ? this.#send(letter) : turn.then(() => this.#send(letter))
  }

  /**
   * Replaces a letter by the result of `make`. If `make` returns undefined, or the id is unknown, nothing changes and the
   * result is undefined.
   */
  change(id: string, make: (letter: DeadLetter) => DeadLetter | undefined): Promise<DeadLetter | undefined> {
    return this.journal.decide(async () => {
      const letter = await this.#current(id)
      const changed = letter && make(letter)
      if (changed === undefined || changed === letter) return nothing(changed)
      return this.#put(changed, putRecord(changed, this.codec), changed)
    })
  }

  /**
   * Deletes those that are there, and answers which. With `isStillDue`, only those that have not changed since, as it
   * can tell by what the index knows.
   */
  delete(ids: readonly string[], isStillDue?: IsStillDue, isLazy = false): Promise<readonly string[]> {
    return this.journal.decide(() => this.#decideDelete(ids, isStillDue), isLazy)
  }

  /** Writes all letters that were sent, and closes. */
  async close(): Promise<void> {
    await this.#quota.settle()
    await this.journal.close()
  }

  /**
   * The letters of some ids, in the same order; undefined for one that is not there or cannot be read any more. The
   * latter is reported and leaves the index: only readable letters are listed and counted.
   */
  async read(
    ids: readonly string[],
    read: ReadRecord = record => letterOf(record, this.codec),
  ): Promise<(DeadLetter | undefined)[]> {
    const letters = new Array<DeadLetter | undefined>(ids.length).fill(undefined)
    let wanted: readonly number[] = [...ids.keys()]
    for (let rereads = 0; wanted.length > 0; rereads++) {
      if (rereads > MAX_REREADS)
        throw new Error(
          `files disappear from ${this.journal.folder.dir} while they are read; check which processes delete there`,
        )
      const ranges = wanted.flatMap(at => this.#rangeOf(ids[at]!, at) ?? [])
      const found = await readRanges(this.journal.files, ranges)
      for (const [which, range] of ranges.entries()) {
        const record = found[which]!
        if (record !== 'gone') letters[range.at] = this.#readOne(read, range, record)
      }
      wanted = ranges.filter((_, which) => found[which] === 'gone').map(({ at }) => at)
      if (wanted.length > 0) await this.journal.reread()
    }
    return letters
  }

  #readOne(read: ReadRecord, range: LetterRange, record: JournalRecord | 'damaged'): DeadLetter | undefined {
    const { path, offset, length: bytes } = range
    try {
      if (record !== 'damaged') {
        const letter = read(record)
        if (letter === undefined || letter.id === range.id) return letter
      }
      this.journal.damage.add({ kind: 'checksum', path, offset, bytes })
    } catch (error) {
      if (!(error instanceof UnreadableError)) throw error
      this.journal.damage.add({ kind: 'unreadable', path, offset, bytes, error: error.cause })
    }
    this.#dropUnreadable(range)
    return undefined
  }

  /** Keeps the letter if it was written again meanwhile, because then its new line is intact. */
  #dropUnreadable(range: LetterRange): void {
    const segment = this.journal.segments.find(range.segment)
    if (segment !== undefined) segment.isDamaged = true
    const now = this.#rangeOf(range.id, range.at)
    if (now?.path === range.path && now.offset === range.offset) this.index.forget(range.id)
  }

  #rangeOf(id: string, at: number): LetterRange | undefined {
    const location = this.index.locationOf(id)
    return location && { ...location, id, at, path: this.journal.pathOf(location.segment) }
  }

  #send(letter: DeadLetter): Promise<void> {
    const record = putRecord(letter, this.codec)
    return this.journal.decide(() => this.#decideSend(letter, record))
  }

  #decideSend(letter: DeadLetter, record: JournalRecord): Decision<void> | Promise<Decision<void>> {
    const unwritten = this.#unwritten.get(letter.id)
    const isStored = this.index.find(letter.id) !== undefined
    if (unwritten !== undefined || !isStored) return this.#merge(unwritten?.letter, letter, record)
    return this.read([letter.id]).then(([existing]) => this.#merge(existing, letter, record))
  }

  #merge(existing: DeadLetter | undefined, letter: DeadLetter, record: JournalRecord): Decision<void> {
    if (existing === undefined) {
      if (this.index.count + this.#arriving >= this.#capacity)
        throw new DeadLettersFullError(this.#name, this.#capacity)
      return this.#put(letter, record, undefined)
    }
    const merged = mergeLetter(existing, letter)
    // A crash repeats a send. A letter that is already stored in this form is not written again.
    if (encodeLetter(merged) === encodeLetter(existing)) return nothing(undefined)
    return this.#put(merged, putRecord(merged, this.codec), undefined)
  }

  #put<T>(letter: DeadLetter, record: JournalRecord, answer: T): Decision<T> {
    const isNew = !this.#unwritten.has(letter.id) && this.index.find(letter.id) === undefined
    if (isNew) this.#arriving++
    const unwritten = this.#await(letter.id, letter)
    const forget = () => {
      this.#forget(letter.id, unwritten)
      if (isNew) this.#arriving--
    }
    return {
      records: [record],
      written: ([location]) => {
        forget()
        this.index.put(putOf(letter), location!)
        return answer
      },
      failed: forget,
    }
  }

  async #current(id: string): Promise<DeadLetter | undefined> {
    const unwritten = this.#unwritten.get(id)
    return unwritten === undefined ? (await this.read([id]))[0] : unwritten.letter
  }

  #decideDelete(ids: readonly string[], isStillDue?: IsStillDue): Decision<readonly string[]> {
    const due = ids.filter(id => {
      const unwritten = this.#unwritten.get(id)
      if (unwritten !== undefined) return unwritten.letter !== undefined && isStillDue === undefined
      const line = this.index.find(id)
      if (line === undefined || isStillDue === undefined) return line !== undefined
      return isStillDue(line.rows.factsOf(line.row), line.rows.locationOf(line.row), id)
    })
    if (due.length === 0) return nothing(due)
    const record = deleteRecord(due)
    const unwritten = due.map(id => this.#await(id, undefined))
    const forget = () => {
      for (const [index, id] of due.entries()) this.#forget(id, unwritten[index]!)
    }
    return {
      records: [record],
      written: ([location]) => {
        forget()
        this.index.delete(due, location!)
        return due
      },
      failed: forget,
    }
  }

  #await(id: string, letter: DeadLetter | undefined): Unwritten {
    const unwritten = { letter }
    this.#unwritten.set(id, unwritten)
    return unwritten
  }

  /** Keeps the entry if a later write has replaced it. */
  #forget(id: string, unwritten: Unwritten): void {
    if (this.#unwritten.get(id) === unwritten) this.#unwritten.delete(id)
  }
}

/** Decodes a record, wholly or as far as needed. Returns undefined if the letter is not wanted. */
type ReadRecord = (record: JournalRecord) => DeadLetter | undefined

interface LetterRange extends FileRange {
  readonly id: string
  readonly segment: number
  /** The position among the requested ids. */
  readonly at: number
}

/** Whether a letter is unchanged since its deletion was decided. */
type IsStillDue = (facts: LetterFacts, location: LineLocation, id: string) => boolean

interface Unwritten {
  /** Undefined if the letter is being deleted. */
  readonly letter: DeadLetter | undefined
}

function nothing<T>(answer: T): Decision<T> {
  return { records: [], written: () => answer }
}
