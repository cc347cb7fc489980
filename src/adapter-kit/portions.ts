/** All of them, some at a time. */
export function* portionsOf<T>(all: Iterable<T>, atOnce: number): Generator<readonly T[]> {
  let portion: T[] = []
  for (const each of all) {
    if (portion.push(each) < atOnce) continue
    yield portion
    portion = []
  }
  if (portion.length > 0) yield portion
}
