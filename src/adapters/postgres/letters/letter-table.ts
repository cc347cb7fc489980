import { changeLetter, type LetterReplay } from '../../../core/dead-letter/change.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { mergeLetter } from '../../../core/dead-letter/merge.ts'
import type { LetterCodec } from '../../../ports/codec.ts'
import { DeadLettersFullError } from '../../../ports/dead-letters.ts'
import { ask } from '../connection/ask.ts'
import type { PgQueryable } from '../connection/client.ts'
import { holdable } from '../connection/text.ts'
import {
  groupValues,
  LETTER_COLUMNS,
  LETTER_PARAMETERS,
  LETTER_SELECTED,
  letterValues,
  readLetter,
  type StoredLetter,
} from './letter-row.ts'

const COLUMNS = LETTER_COLUMNS.join(', ')
const NEXT = LETTER_COLUMNS.length + 1
const GROUP_PARAMETERS = Array.from({ length: 6 }, (_, index) => `$${NEXT + 1 + index}`).join(', ')
/** What people say about a group stays; here it is only made known. */
const KNOWN_GROUP = `with known as (
  insert into lazaret.groups (id, title, rule, basis, category, search) values (${GROUP_PARAMETERS})
  on conflict (id) do nothing)`

/** With room for it, where there is a limit: counting takes longer the more there are. */
function insertStatement(isBounded: boolean): string {
  const room = `(select count(*) from lazaret.dead_letters) < $${NEXT}::bigint`
  return `${KNOWN_GROUP} insert into lazaret.dead_letters (${COLUMNS}) select ${LETTER_PARAMETERS.join(', ')}
    where ${isBounded ? room : `$${NEXT}::bigint > 0`} on conflict (id) do nothing`
}

const INSERT = insertStatement(false)
const INSERT_WITHIN = insertStatement(true)
const UPDATE = `${KNOWN_GROUP} update lazaret.dead_letters
  set (${COLUMNS}, revision) = (${LETTER_PARAMETERS.join(', ')}, revision + 1)
  where id = $1 and revision = $${NEXT}`

/** What came of a replay. */
interface ReplayEnd {
  readonly to: 'resolved' | 'dead'
  readonly at: number
  readonly under: LetterReplay
}

/**
 * Where letters come, change and go. What a letter becomes is decided here, where the codec is; that nobody changes it in
 * between is seen to by its revision: if somebody was faster, it is looked at again as it is by then.
 */
export class LetterTable {
  readonly #name: string
  readonly #codec: LetterCodec
  readonly #capacity: number

  constructor(name: string, codec: LetterCodec, capacity: number) {
    this.#name = name
    this.#codec = codec
    this.#capacity = capacity
  }

  /** As a new letter, or merged with the one that is there. */
  async save(on: PgQueryable, letter: DeadLetter): Promise<void> {
    for (;;) {
      if (await this.#insert(on, letter)) return
      const stored = await this.find(on, letter.id)
      if (stored === undefined) {
        if (await this.#isFull(on)) throw new DeadLettersFullError(this.#name, this.#capacity)
        continue
      }
      const known = this.read(stored)
      const merged = mergeLetter(known, letter)
      if (merged === known || (await this.replace(on, merged, stored.revision))) return
    }
  }

  /** That came of what was sent. A letter that is gone, or is not replaying under that replay, is left so. */
  async endReplay(on: PgQueryable, id: string, change: ReplayEnd): Promise<void> {
    for (;;) {
      const stored = await this.find(on, id)
      const changed = stored && changeLetter(this.read(stored), change)
      if (changed === undefined || (await this.replace(on, changed, stored!.revision))) return
    }
  }

  async find(on: PgQueryable, id: string): Promise<StoredLetter | undefined> {
    const { rows } = await ask(
      on,
      'reading a dead letter',
      `select ${LETTER_SELECTED} from lazaret.dead_letters where id = $1`,
      [holdable(id)],
    )
    return rows[0]
  }

  /** Whether it is in the place of the one that had the revision. */
  async replace(on: PgQueryable, letter: DeadLetter, revision: number): Promise<boolean> {
    const values = [...letterValues(letter, this.#codec), revision, ...groupValues(letter, this.#codec)]
    const { rowCount } = await ask(on, 'changing a dead letter', UPDATE, values)
    return rowCount !== 0
  }

  read(stored: StoredLetter): DeadLetter {
    return readLetter(stored, this.#codec)
  }

  async #insert(on: PgQueryable, letter: DeadLetter): Promise<boolean> {
    const statement = this.#isBounded ? INSERT_WITHIN : INSERT
    const values = [...letterValues(letter, this.#codec), this.#capacity, ...groupValues(letter, this.#codec)]
    const { rowCount } = await ask(on, 'saving a dead letter', statement, values)
    return rowCount !== 0
  }

  async #isFull(on: PgQueryable): Promise<boolean> {
    if (!this.#isBounded) return false
    const { rows } = await ask(
      on,
      'counting dead letters',
      'select count(*)::float8 as count from lazaret.dead_letters',
    )
    return rows[0].count >= this.#capacity
  }

  get #isBounded(): boolean {
    return this.#capacity < Number.MAX_SAFE_INTEGER
  }
}
