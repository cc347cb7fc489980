/**
 * Options with more specific ones over them. Groups of options are merged field by field, so that
 * `{ retry: { attempts: 6 } }` keeps a more general backoff. Deeper groups replace each other as a whole.
 */
export function mergeOptions(general: object, specific: object): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...general }
  for (const [name, own] of Object.entries(specific)) {
    if (own === undefined) continue
    const below = merged[name]
    merged[name] = isPlain(below) && isPlain(own) ? { ...below, ...givenFields(own) } : own
  }
  return merged
}

/** The fields that are given. An object with undefined fields would hide others that it is spread over. */
export function givenFields<T extends object>(
  fields: T,
): { readonly [K in keyof T]?: Exclude<T[K], undefined> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as {
    [K in keyof T]?: Exclude<T[K], undefined>
  }
}

export function isPlain(value: unknown): value is object {
  return typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype
}
