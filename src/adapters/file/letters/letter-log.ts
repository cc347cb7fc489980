import { encodeLetter } from '../../../core/dead-letter/json.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { mergeLetter } from '../../../core/dead-letter/merge.ts'
import type { LetterCodec } from '../../../ports/codec.ts'
import { DeadLettersFullError } from '../../../ports/dead-letters.ts'
import type { Decision } from '../journal/commits.ts'
import type { Journal } from '../journal/journal.ts'
import type { JournalRecord } from '../journal/line.ts'
import { type FileRange, MAX_REREADS, readRanges } from '../journal/read-ranges.ts'
import { type RecordLocation, UnreadableError } from '../journal/segment-set.ts'
import { EventLoopQuota } from './event-loop-quota.ts'
import { deleteRecord, type LetterFacts, type LetterIndex, letterOf, putOf, putRecord } from './record.ts'

/** Letters written as JSON in one turn of the event loop: a millisecond's work. */
const ENCODED_PER_TURN = 128

/**
 * Letters in a journal. Every change is decided under the journal's lock, against what is durable and what the write
 * under way is about to make of it, so that many at once, in many processes, never work from an old letter.
 */
export class LetterLog {
  readonly journal: Journal
  readonly index: LetterIndex
  readonly codec: LetterCodec
  readonly #name: string
  readonly #capacity: number
  readonly #quota = new EventLoopQuota(ENCODED_PER_TURN)
  /** What writes under way make of letters. The index learns of it when it is durable. */
  readonly #unwritten = new Map<string, Unwritten>()
  /** Of those, the ones that the index does not know. */
  #arriving = 0

  /** It accepts letters up to the capacity; Infinity means no limit. */
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

  /** Replaces a letter by what is made of it. Undefined leaves it as it is and is the answer, also for an unknown id. */
  change(id: string, make: (letter: DeadLetter) => DeadLetter | undefined): Promise<DeadLetter | undefined> {
    return this.journal.decide(async () => {
      const letter = await this.#current(id)
      const changed = letter && make(letter)
      if (changed === undefined || changed === letter) return nothing(changed)
      return this.#put(changed, putRecord(changed, this.codec), changed)
    })
  }

  /**
   * Deletes those that are there, and answers how many. With `isStillDue`, only those that have not changed since, as it
   * can tell by what the index knows.
   */
  delete(ids: readonly string[], isStillDue?: IsStillDue, isLazy = false): Promise<number> {
    return this.journal.decide(() => this.#decideDelete(ids, isStillDue), isLazy)
  }

  /** Writes everything that was sent. */
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

  /** Unless it was told again in the meantime: then it is elsewhere, and whole. */
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
    // Told the same again, which a crash makes of every send: there is nothing to write.
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

  #decideDelete(ids: readonly string[], isStillDue?: IsStillDue): Decision<number> {
    const due = ids.filter(id => {
      const unwritten = this.#unwritten.get(id)
      if (unwritten !== undefined) return unwritten.letter !== undefined && isStillDue === undefined
      const line = this.index.find(id)
      if (line === undefined || isStillDue === undefined) return line !== undefined
      return isStillDue(line.rows.factsOf(line.row), line.rows.locationOf(line.row))
    })
    if (due.length === 0) return nothing(0)
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
        return due.length
      },
      failed: forget,
    }
  }

  #await(id: string, letter: DeadLetter | undefined): Unwritten {
    const unwritten = { letter }
    this.#unwritten.set(id, unwritten)
    return unwritten
  }

  /** Unless a later write has made something else of it. */
  #forget(id: string, unwritten: Unwritten): void {
    if (this.#unwritten.get(id) === unwritten) this.#unwritten.delete(id)
  }
}

/** Makes a letter of its record, wholly or as far as is needed; undefined when it is not wanted. */
type ReadRecord = (record: JournalRecord) => DeadLetter | undefined

interface LetterRange extends FileRange {
  readonly id: string
  readonly segment: number
  /** Which of the ids asked for it is. */
  readonly at: number
}

/** Whether a letter is still what it was when its deletion was decided on. */
type IsStillDue = (facts: LetterFacts, location: RecordLocation) => boolean

interface Unwritten {
  /** Undefined: it is being deleted. */
  readonly letter: DeadLetter | undefined
}

function nothing<T>(answer: T): Decision<T> {
  return { records: [], written: () => answer }
}
