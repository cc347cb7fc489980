// What every list of a store means by a page.
import { OptionsError } from '../core/options/faults.ts'
import { integer, optional, text, withDefault } from '../core/options/rules.ts'

export const DEFAULT_PAGE_LIMIT = 100
export const MAX_PAGE_LIMIT = 1_000

/** The rules of what every query has. */
export const pageRules = {
  limit: withDefault(integer({ min: 1, max: MAX_PAGE_LIMIT }), DEFAULT_PAGE_LIMIT),
  cursor: optional(text()),
}

export function cursorFault(cursor: string, remedy = 'give the cursor of the page before'): OptionsError {
  return new OptionsError('query', [{ path: 'query.cursor', received: JSON.stringify(cursor), remedy }])
}
