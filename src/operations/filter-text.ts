import { splitDisclosing } from '../adapter-kit/query/letter-query.ts'
import { MASK } from '../core/dead-letter/mask-text.ts'
import type { LetterFilter } from '../ports/dead-letters.ts'

const WORDS: Readonly<Record<string, string>> = {
  minAttempts: 'attempts at least',
  maxAttempts: 'attempts at most',
}

/** For the audit and for questions: `channel orders, state dead`, or `all letters`. */
export function describeFilter(filter: LetterFilter): string {
  const words = Object.entries(filter).map(([name, value]) =>
    name === 'after' || name === 'before'
      ? `${name} ${new Date(value).toISOString()}`
      : `${WORDS[name] ?? name} ${value}`,
  )
  return words.length === 0 ? 'all letters' : words.join(', ')
}

/** The part of a target that an earlier version wrote with the text that was searched for. */
const SEARCH_IN_TARGET = /(^|, )search .*$/s

/**
 * A filter as an audit entry tells it. The texts that were searched for stand in the detail, because they may be some that are
 * masked: who may see the entry may not see the text, and a target can be looked for.
 */
export function auditedFilter(filter: LetterFilter): {
  readonly target: string
  readonly detail?: Readonly<Record<string, string>>
} {
  const { rest, disclosing, isDisclosing } = splitDisclosing(filter)
  if (!isDisclosing) return { target: describeFilter(rest) }
  const words = Object.keys(rest).length === 0 ? [] : [describeFilter(rest)]
  return { target: [...words, 'by a search'].join(', '), detail: { ...disclosing } }
}

/** Whether a target has the text of a search, as earlier versions wrote it. */
export function containsSearch(target: string): boolean {
  return SEARCH_IN_TARGET.test(target)
}

/** Removes everything after the search too, because the end of its text is unknown. */
export function hideSearch(target: string): string {
  return target.replace(SEARCH_IN_TARGET, `$1search ${MASK}`)
}
