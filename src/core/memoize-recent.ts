const MAX_RESULTS = 8
/** Longer ones are not kept alive. */
const MAX_TEXT_LENGTH = 10_000

/**
 * Remembers the latest results of pure work on a text and what belongs to it. For inputs that repeat often: thousands
 * of failures with the same few stacks.
 */
export function memoizeRecent<T, R>(
  work: (text: string, rest: T) => R,
  isSame: (one: T, other: T) => boolean,
): (text: string, rest: T) => R {
  const recent: { readonly text: string; readonly rest: T; readonly result: R }[] = []
  let next = 0
  return (text, rest) => {
    for (const known of recent) if (known.text === text && isSame(known.rest, rest)) return known.result
    const result = work(text, rest)
    if (text.length <= MAX_TEXT_LENGTH) {
      recent[next] = { text, rest, result }
      next = (next + 1) % MAX_RESULTS
    }
    return result
  }
}
