import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import { mergeLetter } from '../../../core/dead-letter/merge.ts'
import type { LetterCodec } from '../../../ports/codec.ts'
import type { FoundLetter, LetterRow } from '../connection/calls.ts'
import { LetterRows } from './letter-row.ts'

/** The writing thread wants it once more: with its group, as a new one, or merged with what is there. */
type Again = 'group' | 'gone' | FoundLetter

type Put<T> = (row: LetterRow, revision: number | null) => Promise<T>

/**
 * Saves letters that may be there already. Merging needs the codec, which is here; that nobody changes the letter in
 * between is seen to by its revision: when it has changed, it is merged again with what it is by then.
 */
export class LetterSaver {
  readonly #codec: LetterCodec
  readonly #rows: LetterRows

  constructor(codec: LetterCodec) {
    this.#codec = codec
    this.#rows = new LetterRows(codec)
  }

  /** `conclude` makes of the last answer what the caller wants to know. */
  save<T, R>(letter: DeadLetter, put: Put<T>, conclude: (answer: Exclude<T, Again>) => R): Promise<R> {
    let row: LetterRow
    try {
      row = this.#rows.of(letter)
    } catch (error) {
      return Promise.reject(error)
    }
    return put(row, null).then(answer =>
      isAgain(answer)
        ? this.#saveAgain(letter, put, answer).then(conclude)
        : conclude(answer as Exclude<T, Again>),
    )
  }

  /** Puts a letter in the place of the one that had the revision. */
  async replace<T>(letter: DeadLetter, revision: number, put: Put<T>): Promise<T> {
    const answer = await put(this.#rows.of(letter), revision)
    if (answer !== 'group') return answer
    this.#rows.tellAgain()
    return this.replace(letter, revision, put)
  }

  async #saveAgain<T>(letter: DeadLetter, put: Put<T>, first: Again): Promise<Exclude<T, Again>> {
    let revision: number | null = null
    let wanted = letter
    for (let answer: T | Again = first; ; answer = await put(this.#rows.of(wanted), revision)) {
      if (!isAgain(answer)) return answer as Exclude<T, Again>
      if (answer === 'group') this.#rows.tellAgain()
      else if (answer === 'gone') {
        revision = null
        wanted = letter
      } else {
        revision = answer.revision
        wanted = mergeLetter(this.#codec.decode(answer.body), letter)
      }
    }
  }
}

function isAgain(answer: unknown): answer is Again {
  return answer === 'group' || answer === 'gone' || (typeof answer === 'object' && answer !== null)
}
