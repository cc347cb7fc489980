import {
  examinedHandlers,
  examinedStats,
  examinedTimeline,
  examinedVersions,
  isExamined,
  listExamined,
} from '../../../adapter-kit/query/examined-letters.ts'
import { letterPosition } from '../../../adapter-kit/query/letter-order.ts'
import {
  letterCursor,
  resolveLetterFilter,
  resolveLetterQuery,
} from '../../../adapter-kit/query/letter-query.ts'
import { resolveTimeline } from '../../../adapter-kit/query/letter-timeline.ts'
import { readLetter, readLetterPage } from '../../../adapter-kit/query/readable-letters.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { LetterCodec } from '../../../ports/codec.ts'
import {
  type DeadLetterStore,
  DeadLettersClosedError,
  DeadLettersFullError,
  type HandlerCount,
  type LetterChange,
  type LetterFilter,
  type LetterPage,
  type LetterQuery,
  type LetterStats,
  type LetterVersion,
  type SeenLetter,
  type TimelineSpan,
} from '../../../ports/dead-letters.ts'
import { type Connection, Session } from '../connection/connection.ts'
import type { SqliteSettings } from '../options.ts'
import { LetterSaver, searchable } from './letter-saver.ts'
import type { LetterRow } from './letter-table.ts'
import { FIRST_PLACE, type VersionPlace, type VersionPortion } from './letter-versions.ts'

/** Dead letters in the database. This side encodes and decodes them, because it has the codec. The threads store them. */
export class SqliteDeadLetters implements DeadLetterStore {
  readonly #session: Session
  readonly #name: string
  readonly #capacity: number
  readonly #codec: LetterCodec
  readonly #saver: LetterSaver

  constructor(connection: Connection, { name, codec, maxLetters }: SqliteSettings) {
    this.#session = new Session(connection, () => new DeadLettersClosedError(name))
    this.#name = name
    this.#capacity = maxLetters
    this.#codec = codec.letters
    this.#saver = new LetterSaver(connection, codec.letters)
  }

  async send(letter: DeadLetter): Promise<void> {
    const { connection } = this.#session
    const put = (row: LetterRow, revision: number | null) =>
      connection.write('letters', 'send', row, revision, this.#capacity)
    if ((await this.#saver.save(letter, put)) === 'full')
      throw new DeadLettersFullError(this.#name, this.#capacity)
  }

  async list(query?: LetterQuery): Promise<LetterPage> {
    if (query !== undefined && isExamined(query)) return listExamined(this, query)
    const { connection } = this.#session
    const { filter, limit, order, startAfter } = resolveLetterQuery(query)
    const { letters, hasMore } = await readLetterPage({
      limit,
      // The reader adds one row to see whether there are more.
      rows: count => connection.read('letters', 'list', searched(filter), count - 1, order, startAfter),
      read: body => readLetter(this.#codec, body),
    })
    const last = letters.at(-1)
    const isMore = hasMore && last !== undefined
    return { letters, cursor: isMore ? letterCursor(letterPosition(last, order), filter, order) : undefined }
  }

  async get(id: string): Promise<DeadLetter | undefined> {
    const found = await this.#session.connection.read('letters', 'get', id)
    return found && readLetter(this.#codec, found.body)
  }

  async change(id: string, change: LetterChange): Promise<DeadLetter | undefined> {
    this.#session.requireOpen()
    return this.#saver.change(id, change)
  }

  async delete(id: string, seen?: LetterVersion): Promise<boolean> {
    return this.#session.connection.write('letters', 'delete', id, seen)
  }

  async deleteMany(seen: readonly SeenLetter[]): Promise<readonly string[]> {
    return this.#session.connection.write('letters', 'deleteMany', seen)
  }

  /** Portions of one facet after the other, because the index has the letters of a facet side by side. */
  async *versions(filter: LetterFilter = {}): AsyncGenerator<readonly SeenLetter[]> {
    if (isExamined(filter)) return yield* examinedVersions(this, filter)
    const wanted = searched(resolveLetterFilter(filter))
    for (let place: VersionPlace | undefined = FIRST_PLACE; place !== undefined; ) {
      const portion: VersionPortion = await this.#session.connection.read(
        'letters',
        'versions',
        wanted,
        place,
      )
      yield portion.found
      place = portion.next
    }
  }

  async stats(filter: LetterFilter = {}): Promise<LetterStats> {
    if (isExamined(filter)) return examinedStats(this, filter)
    const { connection } = this.#session
    return connection.read('letters', 'stats', searched(resolveLetterFilter(filter)))
  }

  async countByHandler(filter: LetterFilter = {}): Promise<readonly HandlerCount[]> {
    if (isExamined(filter)) return examinedHandlers(this, filter)
    const { connection } = this.#session
    return connection.read('letters', 'countByHandler', searched(resolveLetterFilter(filter)))
  }

  async timeline(filter: LetterFilter, span: TimelineSpan): Promise<readonly number[]> {
    if (isExamined(filter)) return examinedTimeline(this, filter, span)
    const { connection } = this.#session
    const wanted = resolveTimeline(filter, span)
    return connection.read('letters', 'timeline', searched(wanted.filter), wanted.span)
  }

  close(): Promise<void> {
    return this.#session.close()
  }
}

/** The filter with its text as it is compared. */
function searched<F extends LetterFilter>(filter: F): F {
  return filter.search === undefined ? filter : { ...filter, search: searchable(filter.search) }
}
