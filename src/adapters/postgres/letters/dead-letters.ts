import { PendingWork } from '../../../adapter-kit/pending-work.ts'
import {
  examinedHandlers,
  examinedStats,
  examinedTimeline,
  examinedVersions,
  isExamined,
  listExamined,
} from '../../../adapter-kit/query/examined-letters.ts'
import { type LetterPosition, letterPosition } from '../../../adapter-kit/query/letter-order.ts'
import {
  letterCursor,
  resolveLetterFilter,
  resolveLetterQuery,
} from '../../../adapter-kit/query/letter-query.ts'
import { resolveTimeline } from '../../../adapter-kit/query/letter-timeline.ts'
import { readLetterPage } from '../../../adapter-kit/query/readable-letters.ts'
import { changeLetter } from '../../../core/dead-letter/change.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import {
  type CountOptions,
  type DeadLetterStore,
  DeadLettersClosedError,
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
import type { PgPool } from '../connection/client.ts'
import { Conditions } from '../connection/conditions.ts'
import { runQuery } from '../connection/query.ts'
import { asTime, storableText, timeParameter } from '../connection/values.ts'
import type { PostgresSettings } from '../options.ts'
import { CountFolder } from './facet-counts.ts'
import { countByHandler, countByTime, countLetters } from './letter-count.ts'
import { readLetters } from './letter-list.ts'
import { LetterTable, type ReplayEnd } from './letter-table.ts'
import { deleteSeen, readVersions, VERSIONS_AT_ONCE } from './letter-versions.ts'

/** The dead letters of a database: those of its outbox and those that other brokers' consumers save here. */
export class PostgresDeadLetters implements DeadLetterStore {
  readonly #name: string
  readonly #pool: PgPool
  readonly #table: LetterTable
  readonly #pending = new PendingWork()
  readonly #folder: CountFolder
  #closing: Promise<void> | undefined

  constructor(settings: PostgresSettings) {
    this.#name = settings.name
    this.#pool = settings.pool
    this.#table = new LetterTable(settings)
    this.#folder = new CountFolder(settings.pool, this.#pending)
  }

  async send(letter: DeadLetter): Promise<void> {
    this.#requireOpen()
    this.#pending.begin()
    try {
      await this.#table.save(this.#pool, letter)
    } finally {
      this.#pending.end()
    }
  }

  async list(query?: LetterQuery): Promise<LetterPage> {
    if (query !== undefined && isExamined(query)) return listExamined(this, query)
    this.#requireOpen()
    const { filter, limit, order, startAfter } = resolveLetterQuery(query)
    const { letters, hasMore } = await readLetterPage({
      limit,
      rows: count => readLetters(this.#pool, { filter, order, startAfter, count }),
      read: row => this.#table.read(row),
    })
    const last = letters.at(-1)
    const isMore = hasMore && last !== undefined
    return { letters, cursor: isMore ? letterCursor(letterPosition(last, order), filter, order) : undefined }
  }

  async get(id: string): Promise<DeadLetter | undefined> {
    this.#requireOpen()
    const stored = await this.#table.find(this.#pool, id)
    return stored && this.#table.read(stored)
  }

  async change(id: string, change: LetterChange): Promise<DeadLetter | undefined> {
    this.#requireOpen()
    if (isReplayEnd(change)) return this.#table.endReplay(this.#pool, id, change)
    for (;;) {
      const stored = await this.#table.find(this.#pool, id)
      const letter = stored && this.#table.read(stored)
      const changed = letter && changeLetter(letter, change)
      if (
        changed === undefined ||
        changed === letter ||
        (await this.#table.replace(this.#pool, changed, stored!.revision))
      )
        return changed
    }
  }

  async delete(id: string, seen?: LetterVersion): Promise<boolean> {
    this.#requireOpen()
    const conditions = new Conditions().equal('id', storableText(id)).equal('state', seen?.state)
    if (seen !== undefined)
      conditions.add(timeParameter(seen.lastFailedAt), parameter => `last_failed_at = ${asTime(parameter)}`)
    const { rowCount } = await runQuery(
      this.#pool,
      'deleting a dead letter',
      `delete from lazaret.dead_letters where ${conditions.text}`,
      conditions.values,
    )
    return rowCount !== 0
  }

  async deleteMany(seen: readonly SeenLetter[]): Promise<readonly string[]> {
    this.#requireOpen()
    return deleteSeen(this.#pool, seen)
  }

  async *versions(filter: LetterFilter = {}): AsyncGenerator<readonly SeenLetter[]> {
    if (isExamined(filter)) return yield* examinedVersions(this, filter)
    const wanted = resolveLetterFilter(filter)
    for (let place: LetterPosition | undefined | 'start' = 'start'; place !== undefined; ) {
      this.#requireOpen()
      const found: readonly SeenLetter[] = await readVersions(
        this.#pool,
        wanted,
        place === 'start' ? undefined : place,
      )
      yield found
      place = found.length < VERSIONS_AT_ONCE ? undefined : found.at(-1)
    }
  }

  async stats(filter: LetterFilter = {}, { stopAt }: CountOptions = {}): Promise<LetterStats> {
    if (isExamined(filter)) return examinedStats(this, filter)
    this.#requireOpen()
    return countLetters(this.#pool, this.#folder, resolveLetterFilter(filter), stopAt)
  }

  async countByHandler(filter: LetterFilter = {}): Promise<readonly HandlerCount[]> {
    if (isExamined(filter)) return examinedHandlers(this, filter)
    this.#requireOpen()
    return countByHandler(this.#pool, resolveLetterFilter(filter))
  }

  async timeline(filter: LetterFilter, span: TimelineSpan): Promise<readonly number[]> {
    if (isExamined(filter)) return examinedTimeline(this, filter, span)
    this.#requireOpen()
    const wanted = resolveTimeline(filter, span)
    return countByTime(this.#pool, wanted.filter, wanted.span)
  }

  close(): Promise<void> {
    this.#folder.close()
    this.#closing ??= this.#pending.settled()
    return this.#closing
  }

  #requireOpen(): void {
    if (this.#closing !== undefined) throw new DeadLettersClosedError(this.#name)
  }
}

/** Whether the change is what a consumer records of a replay that it has handled. */
function isReplayEnd(change: LetterChange): change is LetterChange & ReplayEnd {
  const { to, onlyIfSentBy, from, onlyIfReplays, onlyIfLastFailedAt } = change
  const isResolving = to === 'resolved' && onlyIfSentBy !== undefined
  return isResolving && [from, onlyIfReplays, onlyIfLastFailedAt].every(each => each === undefined)
}
