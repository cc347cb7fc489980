import { custom, type Rule } from './rules.ts'

/** A name, a name in which each `*` stands for any run of characters, or a regular expression. */
export type NamePattern = string | RegExp

export const patternRule: Rule<NamePattern> = custom(
  (value): value is NamePattern => value instanceof RegExp || (typeof value === 'string' && value !== ''),
  "give a name such as 'order.paid', with * for any characters, or a regular expression",
  { kind: 'pattern' },
)

/** Case counts, and a text must match the whole name; a regular expression matches where it says. */
export function matchesPattern(pattern: NamePattern, name: string): boolean {
  // search, unlike test, does not go on from where a global expression matched last.
  return typeof pattern === 'string' ? matchesWildcards(pattern, name) : name.search(pattern) !== -1
}

/**
 * Looks for the pieces between the stars one after the other, each as far left as it can be. That is never wrong, so
 * there is no going back, and no pattern can make it slow.
 */
function matchesWildcards(pattern: string, name: string): boolean {
  let star = pattern.indexOf('*')
  if (star === -1) return pattern === name
  if (!name.startsWith(pattern.slice(0, star))) return false

  let from = star
  for (let next = pattern.indexOf('*', star + 1); next !== -1; next = pattern.indexOf('*', star + 1)) {
    const piece = pattern.slice(star + 1, next)
    const found = name.indexOf(piece, from)
    if (found === -1) return false
    from = found + piece.length
    star = next
  }
  const end = pattern.slice(star + 1)
  return name.length - from >= end.length && name.endsWith(end)
}
