import type { LetterFilter } from '../ports/dead-letters.ts'

/** For the audit and for questions: `channel orders, state dead`, or `all letters`. */
export function filterInWords(filter: LetterFilter): string {
  const words = Object.entries(filter).map(([name, value]) =>
    typeof value === 'number' ? `${name} ${new Date(value).toISOString()}` : `${name} ${value}`,
  )
  return words.length === 0 ? 'all letters' : words.join(', ')
}
