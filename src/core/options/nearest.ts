const MAX_DISTANCE = 3

/**
 * The known name closest to a mistyped one, if any is close enough to be what was meant: up to three wrong letters, such
 * as `retries` for `retry`, and at most half of them. Three are only taken for a typo if the first letter is right.
 */
export function nearest(typed: string, known: readonly string[]): string | undefined {
  let best: string | undefined
  let bestDistance = Math.min(MAX_DISTANCE, Math.ceil(typed.length / 2) - 1) + 1
  for (const name of known) {
    const distance = editDistance(typed.toLowerCase(), name.toLowerCase())
    if (distance === MAX_DISTANCE && name[0]?.toLowerCase() !== typed[0]?.toLowerCase()) continue
    if (distance < bestDistance) {
      best = name
      bestDistance = distance
    }
  }
  return best
}

/** Counts insertions, deletions, substitutions and swaps of two neighbours, the most frequent typo. */
function editDistance(a: string, b: string): number {
  let before: number[] = []
  let previous = Array.from({ length: b.length + 1 }, (_, index) => index)
  for (let i = 1; i <= a.length; i++) {
    const current = [i]
    for (let j = 1; j <= b.length; j++) {
      const substitution = previous[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)
      const isSwap = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]
      const swap = isSwap ? before[j - 2]! + 1 : substitution
      current[j] = Math.min(previous[j]! + 1, current[j - 1]! + 1, substitution, swap)
    }
    before = previous
    previous = current
  }
  return previous[b.length]!
}
