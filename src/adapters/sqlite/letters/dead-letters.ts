import {
  placeOf,
  resolveLetterFilter,
  resolveLetterQuery,
  writeCursor,
} from '../../../adapter-kit/query/letter-query.ts'
import { resolveTimeline } from '../../../adapter-kit/query/letter-timeline.ts'
import { changeLetter } from '../../../core/dead-letter/change.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { nextTurn } from '../../../ports/clock.ts'
import type { LetterCodec } from '../../../ports/codec.ts'
import {
  type DeadLetterStore,
  DeadLettersClosedError,
  DeadLettersFullError,
  type LetterChange,
  type LetterFilter,
  type LetterPage,
  type LetterQuery,
  type LetterSeen,
  type LetterStats,
  type TimelineSpan,
} from '../../../ports/dead-letters.ts'
import type { LetterRow } from '../connection/calls.ts'
import type { Connection } from '../connection/connection.ts'
import { searchable } from './letter-row.ts'
import { LetterSaver } from './letter-saver.ts'

/** Letters read in one turn of the event loop: a large page must not hold up everything else. */
const READ_PER_TURN = 50

interface DeadLettersSettings {
  readonly name: string
  readonly codec: LetterCodec
  readonly capacity: number
}

/**
 * Dead letters in the database. What they say is read and written here, where the codec is; the threads keep them. So
 * to change a letter is to read it, make the new one and put it in the place of the one that was read; if that has
 * changed meanwhile, again.
 */
export class SqliteDeadLetters implements DeadLetterStore {
  readonly #connection: Connection
  readonly #settings: DeadLettersSettings
  readonly #saver: LetterSaver
  #closing: Promise<void> | undefined

  constructor(connection: Connection, settings: DeadLettersSettings) {
    this.#connection = connection
    this.#settings = settings
    this.#saver = new LetterSaver(settings.codec)
  }

  send(letter: DeadLetter): Promise<void> {
    if (this.#closing !== undefined) return Promise.reject(new DeadLettersClosedError(this.#settings.name))
    return this.#saver.save(letter, this.#put, this.#refuse)
  }

  async list(query?: LetterQuery): Promise<LetterPage> {
    this.#requireOpen()
    const { filter, limit, behind } = resolveLetterQuery(query)
    const bodies = await this.#connection.read('listLetters', { filter: sought(filter), limit, behind })
    const letters: DeadLetter[] = []
    for (const body of bodies.slice(0, limit)) {
      if (letters.length % READ_PER_TURN === READ_PER_TURN - 1) await nextTurn()
      letters.push(this.#settings.codec.decode(body))
    }
    const last = letters.at(-1)
    const hasMore = bodies.length > limit && last !== undefined
    return { letters, cursor: hasMore ? writeCursor(placeOf(last), filter) : undefined }
  }

  async get(id: string): Promise<DeadLetter | undefined> {
    this.#requireOpen()
    const found = await this.#connection.read('getLetter', id)
    return found && this.#settings.codec.decode(found.body)
  }

  async change(id: string, change: LetterChange): Promise<DeadLetter | undefined> {
    this.#requireOpen()
    for (let found = await this.#connection.read('getLetter', id); found !== undefined; ) {
      const letter = this.#settings.codec.decode(found.body)
      const changed = changeLetter(letter, change)
      if (changed === undefined || changed === letter) return changed
      const answer = await this.#saver.replace(changed, found.revision, this.#put)
      if (answer === undefined) return changed
      // Somebody else was faster: it is looked at again as it is now, if it is still there.
      if (typeof answer !== 'object') return undefined
      found = answer
    }
    return undefined
  }

  async delete(id: string, seen?: LetterSeen): Promise<boolean> {
    this.#requireOpen()
    return this.#connection.writer.call('deleteLetter', id, seen)
  }

  async stats(filter?: LetterFilter): Promise<LetterStats> {
    this.#requireOpen()
    const resolved = resolveLetterFilter(filter)
    const { byState, byReason, byChannel, ...figures } = await this.#connection.read(
      'statLetters',
      sought(resolved),
    )
    return {
      ...figures,
      byState: Object.fromEntries(byState),
      byReason: Object.fromEntries(byReason),
      byChannel: Object.fromEntries(byChannel),
    }
  }

  async timeline(filter: LetterFilter, span: TimelineSpan): Promise<readonly number[]> {
    this.#requireOpen()
    const wanted = resolveTimeline(filter, span)
    return this.#connection.read('timeLetters', sought(wanted.filter), wanted.span)
  }

  close(): Promise<void> {
    this.#closing ??= this.#connection.leave()
    return this.#closing
  }

  readonly #put = (row: LetterRow, revision: number | null) =>
    this.#connection.writer.call('sendLetter', row, revision, this.#settings.capacity)

  readonly #refuse = (answer: 'full' | undefined): void => {
    const { name, capacity } = this.#settings
    if (answer === 'full') throw new DeadLettersFullError(name, capacity)
  }

  #requireOpen(): void {
    if (this.#closing !== undefined) throw new DeadLettersClosedError(this.#settings.name)
  }
}

/** The text as it is compared. */
function sought<F extends LetterFilter>(filter: F): F {
  return filter.search === undefined ? filter : { ...filter, search: searchable(filter.search) }
}
