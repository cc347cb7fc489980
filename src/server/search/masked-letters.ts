import {
  type LetterPosition,
  letterCursor,
  letterPosition,
  readLetterCursor,
  resolveLetterFilter,
} from '../../adapter-kit/query/letter-query.ts'
import { masksOfEvent } from '../../core/dead-letter/event-masks.ts'
import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import { maskFacts } from '../../core/dead-letter/mask-letter.ts'
import type { Masks } from '../../core/dead-letter/masks.ts'
import { metadataTexts } from '../../core/dead-letter/metadata.ts'
import type { DeadLetterStore, LetterFilter, LetterStats } from '../../ports/dead-letters.ts'
import { countLetters } from '../stores/search-stats.ts'

/** One request reads at most this many letters, whatever it finds, and then returns a cursor. */
const MAX_READ = 2_000
const READ_AT_ONCE = 200

/** The letters found, and the position up to which the search has read. */
interface MaskedPage {
  readonly letters: readonly DeadLetter[]
  /** The last letter that was read; undefined at the end of the listing. */
  readonly lookedUntil: LetterPosition | undefined
}

interface Search {
  readonly filter: LetterFilter
  readonly masks: Masks
}

/**
 * Lists the letters whose masked text contains the search text. It does not use the search of the store, because the
 * results and the duration of that search depend on masked values. This search depends only on what the caller may see.
 */
export async function listMasked(
  store: Pick<DeadLetterStore, 'list'>,
  { filter, masks }: Search,
  { limit, cursor }: { readonly limit: number; readonly cursor: string | undefined },
): Promise<MaskedPage> {
  const { search = '', ...rest } = filter
  const wanted = search.toLowerCase()
  const visible = resolveLetterFilter(rest)
  let place = cursor === undefined ? undefined : readLetterCursor(cursor, resolveLetterFilter(filter))
  const letters: DeadLetter[] = []
  for (let looked = 0; looked < MAX_READ; ) {
    const page = await store.list({
      ...rest,
      limit: READ_AT_ONCE,
      cursor: place === undefined ? undefined : letterCursor(place, visible),
    })
    for (const letter of page.letters) {
      looked++
      place = letterPosition(letter)
      if (tellsMasked(letter, wanted, masks) && letters.push(letter) === limit)
        return { letters, lookedUntil: place }
    }
    if (page.cursor === undefined) return { letters, lookedUntil: undefined }
  }
  return { letters, lookedUntil: place }
}

/** The counts of those letters, within the limit of one request. */
export async function statsMasked(
  store: Pick<DeadLetterStore, 'list'>,
  search: Search,
): Promise<LetterStats & { readonly atLeast?: boolean }> {
  const { letters, lookedUntil } = await listMasked(store, search, {
    limit: MAX_READ,
    cursor: undefined,
  })
  return countLetters(letters, lookedUntil === undefined)
}

/** Whether one of the searched fields (adapter-kit/query/letter-query), in masked form, contains the text. */
function tellsMasked(
  { event, cycle: { failure }, metadata }: DeadLetter,
  lowerCased: string,
  masks: Masks,
): boolean {
  const own = masksOfEvent(event, masks)
  const texts = [failure?.name, failure?.message, failure?.code, event.key]
  const shown = texts.map(text => (text === undefined ? '' : own.maskText(text)))
  const facts = metadataTexts(maskFacts(metadata, own))
  return [...shown, event.id, event.type, ...facts].some(text => text.toLowerCase().includes(lowerCased))
}
