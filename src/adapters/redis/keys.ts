/**
 * The keys of one prefix. What stands in braces decides a key's slot in a cluster, and several keys change together only
 * in one slot: all that one script touches is made by one of these.
 */
export interface Keys {
  /** `{lazaret}`, or `{lazaret:orders}` for a part with its own slot. The names of all its keys begin with it. */
  readonly tag: string
  /** `{lazaret}:letters:…` */
  of(...parts: readonly string[]): string
}

export const DEFAULT_PREFIX = 'lazaret'

/** `part` gives the keys their own slot, so that a cluster can distribute the parts. */
export function keysOf(prefix: string, ...part: readonly string[]): Keys {
  // A closing brace would end the tag early, and with it would go the promise of one slot.
  const tag = `{${[prefix, ...part].join(':').replaceAll(/[{}]/g, '_')}}`
  return Object.freeze({ tag, of: (...parts: readonly string[]) => `${tag}:${parts.join(':')}` })
}
