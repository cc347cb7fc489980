import type { DeadLetterStore, LetterFilter } from '../ports/dead-letters.ts'

/**
 * Counts the letters that a list does not have although the store counts them. Lists leave out what cannot be read as a letter, because
 * another program changed it. Call it before the list is read, and the result of it afterwards, with the number of listed letters.
 */
export async function watchMissingLetters(
  letters: Pick<DeadLetterStore, 'stats'>,
  filter: LetterFilter,
): Promise<(listed: number) => Promise<number>> {
  const before = await letters.stats(filter)
  return async listed => {
    if (listed >= before.count) return 0
    // Letters that were deleted meanwhile are not missing.
    const after = await letters.stats(filter)
    return Math.max(0, Math.min(before.count, after.count) - listed)
  }
}
