import { searchedTexts } from '../../../adapter-kit/query/letter-query.ts'
import { groupTextsAtRest } from '../../../adapter-kit/sealed/groups.ts'
import { groupingOf } from '../../../core/dead-letter/group.ts'
import type { DeadLetter } from '../../../core/dead-letter/letter.ts'
import type { LetterCodec } from '../../../ports/codec.ts'
import type { LetterRow } from '../connection/calls.ts'
import { FIELD_END } from './search-index.ts'

/** Groups that the writing thread has been told of; with more, they are told again. */
const MOST_TOLD = 10_000

/** Writes letters as the threads know them. */
export class LetterRows {
  readonly #codec: LetterCodec
  readonly #told = new Set<string>()

  constructor(codec: LetterCodec) {
    this.#codec = codec
  }

  of(letter: DeadLetter): LetterRow {
    const { id, channel, handler, event, cycle, endedCycles, state } = letter
    const group = cycle.failure?.fingerprint.id ?? groupingOf(letter).id
    const facet = [channel, handler, event.type, cycle.reason, cycle.category, state, group]
    return [
      id,
      JSON.stringify(facet),
      cycle.lastFailedAt,
      endedCycles[0]?.firstFailedAt ?? cycle.firstFailedAt,
      letter.replays > 0 ? 1 : 0,
      searchText(letter, this.#codec.texts !== undefined),
      this.#codec.encode(letter),
      this.#told.has(group) ? null : this.#tell(letter),
    ]
  }

  /** The thread does not know a group that it should: whatever it was told may have been rolled back. */
  tellAgain(): void {
    this.#told.clear()
  }

  #tell(letter: DeadLetter): string {
    const { id, title, rule, basis, search } = groupTextsAtRest(letter, this.#codec.texts)
    if (this.#told.size >= MOST_TOLD) this.#told.clear()
    this.#told.add(id)
    return JSON.stringify([id, title, rule, basis, letter.cycle.category, search.toLowerCase()])
  }
}

/** What a search looks through (ports/letter-query), each field apart from the next. */
function searchText(letter: DeadLetter, isSealed: boolean): string {
  const fields = searchedTexts(letter, isSealed)
  const isClean = !fields.some(field => field?.includes(FIELD_END))
  return (isClean ? fields : fields.map(field => field && searchable(field)))
    .join(FIELD_END)
    .toLowerCase()
    .toWellFormed()
}

/** As it is compared: without case, and without what marks the end of a field. */
export function searchable(text: string): string {
  return text.toLowerCase().toWellFormed().replaceAll(FIELD_END, '\ufffd')
}
