import type { DeadLetter } from '../../core/dead-letter/letter.ts'
import type { DeadLetterStore, LetterQuery } from '../../ports/dead-letters.ts'

/** Payloads may be of a megabyte each. */
const PAGE = 200

/** Every letter that matches, page by page, so that a million of them take the memory of one page. */
export async function* letterPages(
  letters: DeadLetterStore,
  query: Omit<LetterQuery, 'limit' | 'cursor'>,
  pageSize = PAGE,
): AsyncGenerator<readonly DeadLetter[]> {
  let cursor: string | undefined
  do {
    const page = await letters.list({ ...query, limit: pageSize, cursor })
    if (page.letters.length > 0) yield page.letters
    cursor = page.cursor
  } while (cursor !== undefined)
}
