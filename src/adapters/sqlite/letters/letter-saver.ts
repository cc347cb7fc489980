import { firstFailedAt } from '../../../adapter-kit/query/letter-order.ts'
import { searchedTexts } from '../../../adapter-kit/query/letter-query.ts'
import { readableLetter, readLetter } from '../../../adapter-kit/query/readable-letters.ts'
import { groupTextsAtRest } from '../../../adapter-kit/sealed/groups.ts'
import { changeLetter } from '../../../core/dead-letter/change.ts'
import { groupingOf } from '../../../core/dead-letter/group.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { mergeLetter } from '../../../core/dead-letter/merge.ts'
import type { LetterCodec } from '../../../ports/codec.ts'
import type { LetterChange } from '../../../ports/dead-letters.ts'
import type { Connection } from '../connection/connection.ts'
import type { FacetFields } from './facets.ts'
import type { FoundLetter, LetterRow, SendAnswer } from './letter-table.ts'
import { FIELD_END } from './search-index.ts'

/** The most groups that the writing thread is known to have. Beyond that they are sent again. */
const MAX_REMEMBERED = 10_000

/** The writing thread needs the letter again: with its group, as a new letter, or merged with the stored one. */
type SendAgain = 'group' | 'gone' | FoundLetter

/** Writes a row: as a new letter, or in the place of the one that has the revision. */
type Put<T> = (row: LetterRow, revision: number | null) => Promise<T>

/**
 * Saves and changes letters. Merging needs the codec, which this side has and the writing thread has not. The revision
 * detects a change in between: then the letter is merged again with the new version.
 */
export class LetterSaver {
  readonly #connection: Connection
  readonly #codec: LetterCodec
  readonly #told = new Set<string>()

  constructor(connection: Connection, codec: LetterCodec) {
    this.#connection = connection
    this.#codec = codec
  }

  /** Merges the letter with the one that is there already, if any. Answers the last answer of `put`. */
  async save<T>(letter: DeadLetter, put: Put<T>): Promise<Exclude<T, SendAgain>> {
    let revision: number | null = null
    let wanted = letter
    for (;;) {
      const answer: T = await put(this.#rowOf(wanted), revision)
      if (!mustSendAgain(answer)) return answer as Exclude<T, SendAgain>
      if (answer === 'group') this.#told.clear()
      else if (answer === 'gone') {
        revision = null
        wanted = letter
      } else {
        revision = answer.revision
        const { body } = answer
        // A row that cannot be read has nothing to merge with, and must not keep the letter from being saved.
        wanted = mergeLetter(
          readableLetter(() => readLetter(this.#codec, body)),
          letter,
        )
      }
    }
  }

  /** Returns undefined if the letter does not exist, or the change does not apply to it. */
  async change(id: string, change: LetterChange): Promise<DeadLetter | undefined> {
    for (let found = await this.#connection.read('letters', 'get', id); found !== undefined; ) {
      const letter = readLetter(this.#codec, found.body)
      const changed = changeLetter(letter, change)
      if (changed === undefined || changed === letter) return changed
      const answer = await this.#replace(changed, found.revision)
      if (answer === undefined) return changed
      // Another process was faster. The change is tried again on the current letter, if it still exists.
      found = typeof answer === 'object' ? answer : undefined
    }
    return undefined
  }

  async #replace(letter: DeadLetter, revision: number): Promise<SendAnswer> {
    const row = this.#rowOf(letter)
    const answer = await this.#connection.write('letters', 'send', row, revision, Number.MAX_SAFE_INTEGER)
    if (answer !== 'group') return answer
    this.#told.clear()
    return this.#replace(letter, revision)
  }

  #rowOf(letter: DeadLetter): LetterRow {
    const { id, channel, handler, event, cycle, state } = letter
    const group = cycle.failure?.fingerprint.id ?? groupingOf(letter).id
    const { reason, category, attemptCount } = cycle
    const facet: FacetFields = [channel, handler, event.type, reason, category, state, group, attemptCount]
    return [
      id,
      JSON.stringify(facet),
      cycle.lastFailedAt,
      firstFailedAt(letter),
      letter.replays > 0 ? 1 : 0,
      searchText(letter, this.#codec.texts !== undefined),
      this.#codec.encode(letter),
      this.#told.has(group) ? null : this.#tell(letter),
    ]
  }

  #tell(letter: DeadLetter): string {
    const { id, title, rule, basis, search } = groupTextsAtRest(letter, this.#codec.texts)
    if (this.#told.size >= MAX_REMEMBERED) this.#told.clear()
    this.#told.add(id)
    return JSON.stringify([id, title, rule, basis, letter.cycle.category, search.toLowerCase()])
  }
}

/** The thread lacks a group that it should know if the transaction with that group was rolled back. */
function mustSendAgain(answer: unknown): answer is SendAgain {
  return answer === 'group' || answer === 'gone' || (typeof answer === 'object' && answer !== null)
}

/** The texts of a search (adapter-kit/query/letter-query), each field apart from the next. */
function searchText(letter: DeadLetter, isSealed: boolean): string {
  const fields = searchedTexts(letter, isSealed)
  const isClean = !fields.some(field => field?.includes(FIELD_END))
  return (isClean ? fields : fields.map(field => field && searchable(field)))
    .join(FIELD_END)
    .toLowerCase()
    .toWellFormed()
}

/** The text for comparison: in lower case, and without the mark of a field's end. */
export function searchable(text: string): string {
  return text.toLowerCase().toWellFormed().replaceAll(FIELD_END, '\ufffd')
}
