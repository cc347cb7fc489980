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
import {
  type DeadLetterStore,
  DeadLettersClosedError,
  type LetterChange,
  type LetterFilter,
  type LetterPage,
  type LetterQuery,
  type LetterSeen,
  type LetterStats,
  type TimelineSpan,
} from '../../../ports/dead-letters.ts'
import { ask } from '../connection/ask.ts'
import type { PgPool } from '../connection/client.ts'
import { asTime, holdable, timeParameter } from '../connection/text.ts'
import { countLetters, timeLetters } from './letter-counts.ts'
import { addFilter, Conditions } from './letter-filter.ts'
import { LETTER_SELECTED, type StoredLetter } from './letter-row.ts'
import type { LetterTable } from './letter-table.ts'

/** Letters read in one turn of the event loop: a large page must not hold up everything else. */
const READ_PER_TURN = 50

/** Dead letters in the database, of its own outbox and of every other broker. */
export class PostgresDeadLetters implements DeadLetterStore {
  readonly #name: string
  readonly #pool: PgPool
  readonly #table: LetterTable
  readonly #underWay = new Set<Promise<void>>()
  #closing: Promise<void> | undefined

  constructor(name: string, pool: PgPool, table: LetterTable) {
    this.#name = name
    this.#pool = pool
    this.#table = table
  }

  async send(letter: DeadLetter): Promise<void> {
    this.#requireOpen()
    const sent = this.#table.save(this.#pool, letter)
    this.#underWay.add(sent)
    try {
      await sent
    } finally {
      this.#underWay.delete(sent)
    }
  }

  async list(query?: LetterQuery): Promise<LetterPage> {
    this.#requireOpen()
    const { filter, limit, behind } = resolveLetterQuery(query)
    const conditions = addFilter(new Conditions(limit + 1), filter)
    if (behind !== undefined) {
      const at = conditions.values.push(timeParameter(behind.lastFailedAt))
      conditions.add(behind.id, id => `(last_failed_at, id) < (${asTime(at)}, $${id}::text collate "C")`)
    }
    const { rows } = await ask(
      this.#pool,
      'listing dead letters',
      `select ${LETTER_SELECTED} from lazaret.dead_letters where ${conditions.text}
       order by last_failed_at desc, id desc limit $1`,
      conditions.values,
    )
    const letters = await this.#readAll(rows.slice(0, limit))
    const last = letters.at(-1)
    const hasMore = rows.length > limit && last !== undefined
    return { letters, cursor: hasMore ? writeCursor(placeOf(last), filter) : undefined }
  }

  async get(id: string): Promise<DeadLetter | undefined> {
    this.#requireOpen()
    const stored = await this.#table.find(this.#pool, id)
    return stored && this.#table.read(stored)
  }

  async change(id: string, change: LetterChange): Promise<DeadLetter | undefined> {
    this.#requireOpen()
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

  async delete(id: string, seen?: LetterSeen): Promise<boolean> {
    this.#requireOpen()
    const conditions = new Conditions().add(holdable(id), parameter => `id = $${parameter}`)
    if (seen !== undefined)
      conditions
        .add(seen.state, parameter => `state = $${parameter}`)
        .add(timeParameter(seen.lastFailedAt), parameter => `last_failed_at = ${asTime(parameter)}`)
    const { rowCount } = await ask(
      this.#pool,
      'deleting a dead letter',
      `delete from lazaret.dead_letters where ${conditions.text}`,
      conditions.values,
    )
    return rowCount !== 0
  }

  async stats(filter?: LetterFilter): Promise<LetterStats> {
    this.#requireOpen()
    return countLetters(this.#pool, resolveLetterFilter(filter))
  }

  async timeline(filter: LetterFilter, span: TimelineSpan): Promise<readonly number[]> {
    this.#requireOpen()
    const wanted = resolveTimeline(filter, span)
    return timeLetters(this.#pool, wanted.filter, wanted.span)
  }

  close(): Promise<void> {
    this.#closing ??= Promise.allSettled(this.#underWay).then(() => {})
    return this.#closing
  }

  async #readAll(rows: readonly StoredLetter[]): Promise<DeadLetter[]> {
    const letters: DeadLetter[] = []
    for (const row of rows) {
      if (letters.length % READ_PER_TURN === READ_PER_TURN - 1) await nextTurn()
      letters.push(this.#table.read(row))
    }
    return letters
  }

  #requireOpen(): void {
    if (this.#closing !== undefined) throw new DeadLettersClosedError(this.#name)
  }
}
