import { searchedTexts } from '../../../adapter-kit/query/letter-query.ts'
import { readableLetter, readLetter } from '../../../adapter-kit/query/readable-letters.ts'
import { groupTextsAtRest } from '../../../adapter-kit/sealed/groups.ts'
import { changeLetter, type LetterReplay } from '../../../core/dead-letter/change.ts'
import { groupingOf } from '../../../core/dead-letter/group.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { mergeLetter } from '../../../core/dead-letter/merge.ts'
import type { LetterState } from '../../../core/dead-letter/state.ts'
import type { LetterCodec } from '../../../ports/codec.ts'
import { DeadLettersFullError } from '../../../ports/dead-letters.ts'
import type { PgQueryable } from '../connection/client.ts'
import { runQuery } from '../connection/query.ts'
import { asMs, asTime, storableText, storableTextOrNull, timeParameter } from '../connection/values.ts'
import { PostgresError } from '../errors.ts'
import type { PostgresSettings } from '../options.ts'

/**
 * The columns of a letter but its times and revision. Where letters are sealed, no column has unencrypted text of the
 * event.
 */
const COLUMNS: Record<string, (letter: DeadLetter, codec: LetterCodec) => string | number | null> = {
  id: ({ id }) => id,
  channel: ({ channel }) => channel,
  handler: ({ handler }) => handler,
  event_id: ({ event }) => event.id,
  type: ({ event }) => event.type,
  key: ({ event }, { texts }) => (texts === undefined ? (event.key ?? null) : null),
  reason: ({ cycle }) => cycle.reason,
  category: ({ cycle }) => cycle.category,
  state: ({ state }) => state,
  group_id: letter => groupingOf(letter).id,
  error: ({ cycle: { failure } }, { texts }) =>
    failure === undefined ? null : texts === undefined ? `${failure.name}: ${failure.message}` : failure.name,
  attempts: ({ cycle }) => cycle.attemptCount,
  replays: ({ replays }) => replays,
  replay_id: ({ replayId }) => replayId ?? null,
  search: searchText,
  body: (letter, codec) => codec.encode(letter),
}

const TIME_COLUMNS: Record<string, (letter: DeadLetter) => number | undefined> = {
  first_failed_at: ({ cycle, endedCycles }) => endedCycles[0]?.firstFailedAt ?? cycle.firstFailedAt,
  last_failed_at: ({ cycle }) => cycle.lastFailedAt,
  created_at: ({ createdAt }) => createdAt,
  updated_at: ({ updatedAt }) => updatedAt,
  expires_at: ({ expiresAt }) => expiresAt,
}

const NAMES = [...Object.keys(COLUMNS), ...Object.keys(TIME_COLUMNS)]
const COLUMN_LIST = NAMES.join(', ')
const PARAMETERS = NAMES.map((name, index) =>
  name in TIME_COLUMNS ? asTime(index + 1) : `$${index + 1}`,
).join(', ')
/** The parameter behind those of the columns; those of the group follow it. */
const NEXT = NAMES.length + 1
const GROUP_PARAMETERS = Array.from({ length: 6 }, (_, index) => `$${NEXT + 1 + index}`).join(', ')

/** Adds the group of a letter. Triage and notes of a known group stay. */
const ADD_GROUP = `with known as (
  insert into lazaret.groups (id, title, rule, basis, category, search) values (${GROUP_PARAMETERS})
  on conflict (id) do nothing)`

/** With a limit the statement counts the letters, which takes longer with more of them. */
function insertStatement(isBounded: boolean): string {
  const room = `(select count(*) from lazaret.dead_letters) < $${NEXT}::bigint`
  return `${ADD_GROUP} insert into lazaret.dead_letters (${COLUMN_LIST}) select ${PARAMETERS}
    where ${isBounded ? room : `$${NEXT}::bigint > 0`} on conflict (id) do nothing`
}

const INSERT = insertStatement(false)
const INSERT_WITHIN = insertStatement(true)
const UPDATE = `${ADD_GROUP} update lazaret.dead_letters
  set (${COLUMN_LIST}, revision) = (${PARAMETERS}, revision + 1)
  where id = $1 and revision = $${NEXT}`

/** The selected columns of a letter. */
export const LETTER_SELECTED = `body, revision::float8 as revision, state, replays, replay_id as "replayId",
  ${asMs('updated_at')} as "updatedAt"`

export interface StoredLetter {
  readonly body: string
  readonly revision: number
  readonly state: LetterState
  readonly replays: number
  readonly replayId: string | null
  readonly updatedAt: number
}

/**
 * Ends the replay of a letter that this process cannot read. The columns know the replay as well as the body does, and the body
 * stays as it is.
 */
const END_UNREAD = `update lazaret.dead_letters
  set state = $2, updated_at = greatest(updated_at, ${asTime(3)}), revision = revision + 1
  where id = $1 and state = 'replaying' and event_id = $4 and replays = $5 and replay_id is not distinct from $6`

/** The outcome of a replay. */
export interface ReplayEnd {
  readonly to: 'resolved' | 'dead'
  readonly at: number
  readonly onlyIfSentBy: LetterReplay
}

/**
 * The table of letters. This process computes the next version of a letter, because it has the codec. The revision
 * detects a change by another process: then the letter is read and computed again.
 */
export class LetterTable {
  readonly #name: string
  readonly #codec: LetterCodec
  readonly #maxLetters: number
  readonly #onError: (error: unknown) => void

  constructor({ name, codec, maxLetters, onError }: PostgresSettings) {
    this.#name = name
    this.#codec = codec.letters
    this.#maxLetters = maxLetters
    this.#onError = onError
  }

  /** Adds a new letter, or merges it with the one that is there. */
  async save(on: PgQueryable, letter: DeadLetter): Promise<void> {
    for (;;) {
      const statement = this.#isBounded ? INSERT_WITHIN : INSERT
      if (await this.#write(on, 'saving a dead letter', statement, letter, this.#maxLetters)) return
      const stored = await this.find(on, letter.id)
      if (stored === undefined) {
        if (await this.#isFull(on)) throw new DeadLettersFullError(this.#name, this.#maxLetters)
        continue
      }
      // A row that cannot be read has nothing to merge with, and must not keep the letter from being saved.
      const known = readableLetter(() => this.read(stored))
      const merged = mergeLetter(known, letter)
      if (merged === known || (await this.replace(on, merged, stored.revision))) return
    }
  }

  /**
   * Records what came of a replay, and returns its letter. A letter that is gone, or is not replaying under that replay, stays as it
   * is. So does the body of a letter that cannot be read: the event was handled, and must not be handled again because of it.
   */
  async endReplay(on: PgQueryable, id: string, change: ReplayEnd): Promise<DeadLetter | undefined> {
    for (;;) {
      const stored = await this.find(on, id)
      if (stored === undefined) return undefined
      let letter: DeadLetter
      try {
        letter = this.read(stored)
      } catch (error) {
        await this.#endUnread(on, id, change, error)
        return undefined
      }
      const changed = changeLetter(letter, change)
      if (changed === undefined || (await this.replace(on, changed, stored.revision))) return changed
    }
  }

  async #endUnread(on: PgQueryable, id: string, change: ReplayEnd, cause: unknown): Promise<void> {
    const { to, at, onlyIfSentBy } = change
    const { eventId, attempt, replayId } = onlyIfSentBy
    const { rowCount } = await runQuery(on, 'ending a replay', END_UNREAD, [
      storableText(id),
      to,
      timeParameter(at),
      storableText(eventId),
      attempt,
      storableTextOrNull(replayId),
    ])
    if (rowCount !== 0)
      this.#onError(new PostgresError(`letter ${id} is ${to} now, and this process cannot read it`, cause))
  }

  async find(on: PgQueryable, id: string): Promise<StoredLetter | undefined> {
    const { rows } = await runQuery(
      on,
      'reading a dead letter',
      `select ${LETTER_SELECTED} from lazaret.dead_letters where id = $1`,
      [storableText(id)],
    )
    return rows[0]
  }

  /** Answers whether the letter replaced the one with that revision. */
  replace(on: PgQueryable, letter: DeadLetter, revision: number): Promise<boolean> {
    return this.#write(on, 'changing a dead letter', UPDATE, letter, revision)
  }

  /** SQL may have changed the columns, so they count and not the body. */
  read(stored: StoredLetter): DeadLetter {
    const letter = readLetter(this.#codec, stored.body)
    const { state, replays, updatedAt } = stored
    if (state === letter.state && replays === letter.replays) return letter
    return { ...letter, state, replays, replayId: stored.replayId ?? undefined, updatedAt }
  }

  async #write(
    on: PgQueryable,
    doing: string,
    statement: string,
    letter: DeadLetter,
    next: number,
  ): Promise<boolean> {
    const texts = Object.values(COLUMNS).map(read => read(letter, this.#codec))
    const times = Object.values(TIME_COLUMNS).map(read => read(letter))
    const { id, title, rule, basis, search } = groupTextsAtRest(letter, this.#codec.texts)
    const group = [id, title, rule, basis, letter.cycle.category, searchable(search)]
    const { rowCount } = await runQuery(on, doing, statement, [
      ...texts.map(value => (typeof value === 'string' ? storableText(value) : value)),
      ...times.map(ms => (ms === undefined ? null : timeParameter(ms))),
      next,
      ...group.map(storableText),
    ])
    return rowCount !== 0
  }

  async #isFull(on: PgQueryable): Promise<boolean> {
    if (!this.#isBounded) return false
    const { rows } = await runQuery(
      on,
      'counting dead letters',
      'select count(*)::float8 as count from lazaret.dead_letters',
    )
    return rows[0].count >= this.#maxLetters
  }

  get #isBounded(): boolean {
    return this.#maxLetters < Number.MAX_SAFE_INTEGER
  }
}

/** Stands between the fields of a letter's search text, so that no match spans two of them. */
const FIELD_END = '\u001f'

/** The text that a search looks through (adapter-kit/query/letter-query). */
function searchText(letter: DeadLetter, { texts }: LetterCodec): string {
  const fields = searchedTexts(letter, texts !== undefined)
  return fields.map(field => storableTextOrNull(field && searchable(field))).join(FIELD_END)
}

/** The text as it is compared: in lower case, and without the end of a field. */
export function searchable(text: string): string {
  return storableText(text.toLowerCase()).replaceAll(FIELD_END, '\ufffd')
}
