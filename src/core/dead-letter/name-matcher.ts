import { matchesPattern } from '../options/pattern.ts'

/** The limit of the cache of names. Payloads of one channel repeat their names. */
const MAX_NAMES_KNOWN = 5_000

/** The name in the form in which names are compared: without case, punctuation, accents and other forms of a letter. `*` stays, for patterns. */
export function bareName(name: string): string {
  const plain = name.normalize('NFKD').toLowerCase().replaceAll('ı', 'i')
  return plain.replace(/[^\p{L}\p{N}*]/gu, '')
}

/**
 * Returns a function that tells whether a name is one of `patterns`, in which `*` stands for any characters. The comparison
 * ignores case, punctuation, a final `s` and a final number: `LAST_NAME`, `lastName`, `last-names` and `lastName2` are the same name.
 */
export function createNameMatcher(patterns: readonly string[]): (name: string) => boolean {
  const wanted = patterns.map(bareName)
  const isWanted = (form: string) => wanted.some(pattern => matchesPattern(pattern, form))
  const known = new Map<string, boolean>()
  return name => {
    const before = known.get(name)
    if (before !== undefined) return before
    const plain = bareName(name)
    const answer = [plain, plain.replace(/s$/, ''), plain.replace(/\d+$/, '')].some(isWanted)
    if (known.size >= MAX_NAMES_KNOWN) known.clear()
    known.set(name, answer)
    return answer
  }
}
