import type { DeadLetter } from '../core/dead-letter/letter.ts'
import type { LetterStats } from '../ports/dead-letters.ts'

export function letterStats(letters: readonly DeadLetter[]): LetterStats {
  let oldestAt: number | undefined
  let newestAt: number | undefined
  for (const { lastFailedAt } of letters.map(letter => letter.cycle)) {
    oldestAt = Math.min(oldestAt ?? lastFailedAt, lastFailedAt)
    newestAt = Math.max(newestAt ?? lastFailedAt, lastFailedAt)
  }
  return {
    count: letters.length,
    oldestAt,
    newestAt,
    byState: countBy(letters, letter => letter.state),
    byReason: countBy(letters, letter => letter.cycle.reason),
    byChannel: countBy(letters, letter => letter.channel),
  }
}

function countBy<K extends string>(
  letters: readonly DeadLetter[],
  keyOf: (letter: DeadLetter) => K,
): Record<K, number> {
  const counts = new Map<K, number>()
  for (const letter of letters) counts.set(keyOf(letter), (counts.get(keyOf(letter)) ?? 0) + 1)
  // A channel may have any name, also one that an object's prototype uses; fromEntries makes own properties only.
  return Object.fromEntries(counts) as Record<K, number>
}
