import { MASK } from '../core/dead-letter/mask-text.ts'
import type { LetterFilter } from '../ports/dead-letters.ts'

/** For the audit and for questions: `channel orders, state dead`, or `all letters`. */
export function describeFilter(filter: LetterFilter): string {
  const words = Object.entries(filter).map(([name, value]) =>
    typeof value === 'number' ? `${name} ${new Date(value).toISOString()}` : `${name} ${value}`,
  )
  return words.length === 0 ? 'all letters' : words.join(', ')
}

/** The part of a target that an earlier version wrote with the text that was searched for. */
const SEARCH_IN_TARGET = /(^|, )search .*$/s

/**
 * A filter as an audit entry tells it. The text that was searched for stands in the detail, because it may be one that is
 * masked: who may see the entry may not see the text, and a target can be looked for.
 */
export function auditedFilter(filter: LetterFilter): {
  readonly target: string
  readonly detail?: { readonly search: string }
} {
  const { search, ...rest } = filter
  if (search === undefined) return { target: describeFilter(rest) }
  const words = Object.keys(rest).length === 0 ? [] : [describeFilter(rest)]
  return { target: [...words, 'by a search'].join(', '), detail: { search } }
}

/** Whether a target has the text of a search, as earlier versions wrote it. */
export function containsSearch(target: string): boolean {
  return SEARCH_IN_TARGET.test(target)
}

/** Removes everything after the search too, because the end of its text is unknown. */
export function hideSearch(target: string): string {
  return target.replace(SEARCH_IN_TARGET, `$1search ${MASK}`)
}
