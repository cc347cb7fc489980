/** What stands in the places of `:names` when the path has the shape of the pattern; undefined when it has not. */
export function matchPath(pattern: string, path: string): readonly string[] | undefined {
  const wanted = pattern.split('/')
  const given = path.split('/')
  if (wanted.length !== given.length) return undefined
  const places: string[] = []
  for (const [index, part] of wanted.entries()) {
    const value = given[index]!
    if (part.startsWith(':') && value !== '') places.push(decoded(value))
    else if (part !== value) return undefined
  }
  return places
}

/** What is kept under the first pattern that the path has the shape of, and what stands in its places. */
export function findByPath<T>(
  kept: Readonly<Record<string, T>>,
  path: string,
): { readonly value: T; readonly places: readonly string[] } | undefined {
  for (const [pattern, value] of Object.entries(kept)) {
    const places = matchPath(pattern, path)
    if (places !== undefined) return { value, places }
  }
  return undefined
}

/** Somebody may have typed it by hand. */
function decoded(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}
