// What every list of a store means by a page.
import { custom, integer, optional, withDefault } from '../../core/options/rules.ts'

export const DEFAULT_PAGE_LIMIT = 100
const MAX_PAGE_LIMIT = 1_000

/** `cursor.ts` checks whether the text is a cursor, because it knows the listing. */
const cursorRule = custom(
  (value): value is string => typeof value === 'string',
  'give the cursor of the previous page, a string',
)

/** The page that a list shows, and the cursor behind it. `found` has one more than the limit where there is a next page. */
export function pageOf<T>(
  found: readonly T[],
  limit: number,
  cursorBehind: (last: T) => string,
): { readonly shown: T[]; readonly cursor: string | undefined } {
  const shown = found.slice(0, limit)
  return { shown, cursor: found.length > limit ? cursorBehind(shown[limit - 1]!) : undefined }
}

/** The rules of what every query has. */
export const pageRules = {
  limit: withDefault(integer({ min: 1, max: MAX_PAGE_LIMIT }), DEFAULT_PAGE_LIMIT),
  cursor: optional(cursorRule),
}
